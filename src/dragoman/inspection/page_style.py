"""How pages of attention maps look: system fonts, a calm palette, light or dark as the reader has set it."""

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --card: #ffffff; --ink: #23262b; --soft: #646a73; --line: #e4e1db; --faint: #f4f2ee;
  --source: #2f6299; --target: #9a5a22; --heat: #1d4f8c; --lit: 58 110 165; --go: #2f7d5b; --band: #c98d3a33;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181b; --card: #1e2125; --ink: #e4e4e0; --soft: #9ca3ac; --line: #33373d; --faint: #25292e;
    --source: #8fbbe6; --target: #e0ac79; --heat: #8cc4ff; --lit: 108 168 224; --go: #6fc19b; --band: #dba36e40;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.5rem; font-weight: 650; margin: 0 0 0.5rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 0.85rem; font-weight: 500; margin: 0 0 0.6rem; color: var(--soft); overflow-wrap: anywhere; }
.introduction { color: var(--soft); margin: 0 0 1.5rem; max-width: 46rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1.1rem 1.25rem; }
.sample { margin: 0 0 1.25rem; }
.sentence { margin: 0 0 0.4rem; line-height: 1.9; overflow-wrap: anywhere; }
.sentence.source { border-inline-start: 3px solid var(--source); padding-inline-start: 0.7rem; }
.sentence.target { border-inline-start: 3px solid var(--target); padding-inline-start: 0.7rem; }
.word {
  font: inherit; color: inherit; cursor: pointer; border: 0; border-radius: 0.25rem; padding: 0.05rem 0.22rem;
  background: rgb(var(--lit) / var(--weight, 0));
}
.letters .word { padding: 0.05rem 0.06rem; min-width: 0.65em; font-family: ui-monospace, Menlo, Consolas, monospace; }
.word:focus-visible { outline: 2px solid var(--target); outline-offset: 1px; }
.word.chosen { background: var(--band); box-shadow: inset 0 -2px 0 var(--target); }
.verdict { margin-inline-start: 1em; }
.verdict.right { color: var(--go); }
.scroll { overflow-x: auto; margin-top: 0.75rem; }
.map { display: block; max-width: none; }
.map text { font: 13px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--soft); }
.map text { white-space: pre; }
.map .source { fill: var(--source); } .map .target { fill: var(--target); }
.map .ground { fill: var(--faint); }
.map .cell { fill: var(--heat); }
.map .band { fill: none; stroke: var(--target); stroke-width: 1.5; display: none; }
.map .lit { font-weight: 700; }
.says { min-height: 1.55em; margin: 0.6rem 0 0; color: var(--soft); font-size: 0.9rem; }
footer { margin-top: 2rem; color: var(--soft); font-size: 0.85rem; max-width: 46rem; }
@media (max-width: 34rem) { body { padding: 1.25rem 0.9rem 3rem; } .card { padding: 0.85rem; } }
@media print { body { max-width: none; } .card { break-inside: avoid; } }
"""
