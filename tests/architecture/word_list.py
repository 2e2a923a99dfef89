"""Words that make technical text hard to read, each with its replacement.

The expressions are matched without regard to case, one line at a time, against prose only: comments, docstrings,
messages and the text of Markdown pages. A line that must use such a word ends with `old-words: ok`.
"""

_PER = (
    "second|minute|request|batch|sentence|line|step|pair|word|update|file|day|token|process|key|run|page|model|thread"
)
_COUNTED = "sentences|lines?|words|requests|batches|pairs|updates|tokens|bytes?|steps|rows|texts|translations|threads?"
_STATE = "written|translated|read|typed|trained|called|in|used|computed|run|printed|saved|loaded|decoded|defined|given"

WORD_LIST = {
    r"\bpieces?\b(?! of (?:text|code|HTML|XML|markup))": "token",
    r"\bso (?:many|long|often|much)\b(?! (?:that|as))": "the number, the maximum or the limit itself",
    rf"\b(?:{_COUNTED}|once) an? (?:{_PER})\b": "per: sentences per second, one line per request",
    r"\bmend(?:s|ed|ing)?\b": "fix, repair, correct",
    r"\bstrangers?\b": "untrusted (file, client, source)",
    r"(?<![./\w])company(?!\.\w)": "other sentences in the batch",
    r"\b(?:this|in the|into the|of the) house\b": "server, project",
    r"\b(?:nobody|somebody|anybody|everybody)\b": "name the actor: no client, a user, every rank",
    r"\b(?:whoever|whatever|whichever)\b": "name the actor; any, every",
    r"\bthose who\b|\bwho (?:asks?|asked|waits|wants|sends|comes|leaves|left|knows|looks)\b": "clients, users, callers",
    r"\b(?:says|said|told)\b": "reports, states, returns",
    r"\b(?:must|may|can|will|should|not|to) (?:say|tell)\b": "report, specify, determine",
    r"\bknows\b|\b(?:does|did|must) not know\b": "has, supports, depends on",
    r"\bwants\b|\blikes (?:to|it|a|the)\b": "requires, needs",
    r"\basks\b|\basked (?:for|of|by|to|again|about)\b": "requests, requires",
    r"\blook(?:s|ed|ing)? at\b|\b(?:the|its|their|each|every|best|last|next) looks?\b(?! up)": "attends to, reads",
    r"\bnews\b(?![.-]\w)": "updates, events",
    r"\b(?:whose|its|their) turns?\b|\bfor (?:a|its|their) turn\b|\btakes? turns?\b": "priority, position in the queue",
    r"\bunder way\b|\bat hand\b": "running, in progress, current",
    r"\bwhat there is\b|\b(?:what|all that|that|which) (?:is|was|are|were) (?:not )?there\b": "existing, missing",
    rf"\bas (?:it|they) (?:is|are|was|were|stands?|comes?|came)\b(?! (?:{_STATE}|now|today|by|on|for)\b)": "unchanged",
    r"\b(?:what|that|it|which|there|who|and) stands?\b|\bstands? (?:in|at|beside|there|before|on|once)\b": "is, occurs",
    r"\b(?:lies?|lay) (?:in(?! \[)|at|beside|there|under|behind)\b": "is in, is stored in",
    r"\b(?:go|goes|going|gone|went) on\b(?! (?:the|a|an|disk|stdout|stderr)\b)": "continue, resume",
    r"\b(?:comes?|came|coming) (?:of(?! age)|into being|out of)\b|\bbecomes? of\b": "results from, is produced by",
    r"\bbesides?\b": "next to, compared with, in addition to",
    r"\blikeliest\b|\b(?:are|as|is|look|all|much) alike\b": "most likely; similar, equal",
    r"\b(?:anew|afresh)\b": "again",
    r"\b(?:dearer|dearest|lest|shall|ought|wherein|thereof)\b": "more expensive; so that … not; must",
    r"\b(?:calls?|called|calling) (?:it |them |one )?off\b": "cancel",
    r"\b(?:is|are|was|be|stays?) whole\b(?! (?:words?|numbers?|sentences?|files?|lines?))": "complete; atomic",
    r"\bonlook(?:er|ers|ing)\b|\bkeepers?\b|\bthe judge\b|\bfates?\b": "monitor, manager, validator, decision",
    r"(?<!, )\bbut for\b": "except for",
    r"\bby the clock\b|\bgiven up\b|\bat peace\b|\bin good order\b|\bfor good\b": "dropped; permanently",
}
