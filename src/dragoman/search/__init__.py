"""Search algorithms: greedy, beam, sampling and forced decoding, for any engine. Imports no torch."""

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import DecodingState, SearchMonitor, StartDecoding, StepOutput
from dragoman.search.dispatch import ensemble_start, forced_decode, search
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchOptions, SearchTrace, TraceNode
