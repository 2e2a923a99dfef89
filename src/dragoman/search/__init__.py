"""Search algorithms: greedy, beam, sampling and forced decoding, for any engine. Imports no torch."""

from dragoman.config.search import SearchSettings
from dragoman.search.decoding_protocol import DecodingState, SearchMonitor, StartDecoding, StepOutput
from dragoman.search.dispatch import search
from dragoman.search.ensemble import ensemble_start
from dragoman.search.forced_decoding import forced_decode
from dragoman.search.hypothesis import Hypothesis, SearchInput, SearchOptions, SearchTrace, TraceNode
