"""How the page of ``dragoman check`` looks: system fonts, a calm palette, light or dark as the reader has set it."""

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --ground: #fbfaf8; --card: #ffffff; --ink: #23262b; --soft: #646a73; --line: #e4e1db; --faint: #f1efea;
  --source: #3a6ea5; --target: #b0713c; --left: #8fa9a0; --drop: #c2903a;
  --go: #2f7d5b; --look: #a8741a; --stop: #b23b3b; --spelt: #8a3fa0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #16181b; --card: #1e2125; --ink: #e4e4e0; --soft: #9ca3ac; --line: #33373d; --faint: #272b30;
    --source: #7fb0e0; --target: #dba36e; --left: #5f7a71; --drop: #d9ad5e;
    --go: #6fc19b; --look: #e0b35a; --stop: #ec8585; --spelt: #d19be3;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 62rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
}
h1 { font-size: 1.5rem; font-weight: 650; margin: 0 0 1rem; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; font-weight: 650; margin: 2.75rem 0 0.75rem; }
h3 { font-size: 0.95rem; font-weight: 600; margin: 1.5rem 0 0.5rem; color: var(--soft); }
p { margin: 0.35rem 0; }
.soft { color: var(--soft); }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 1rem 1.15rem; }
.more { margin-top: 0.75rem; }
.verdict { border-left: 0.3rem solid var(--level); }
.verdict strong { display: block; font-size: 1.2rem; font-weight: 650; color: var(--level); }
.go { --level: var(--go); } .look { --level: var(--look); } .stop { --level: var(--stop); }
.verdict li, .advice li { margin: 0.35rem 0; overflow-wrap: anywhere; }
.advice ol { margin: 0; padding-left: 1.25rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: 0.75rem; }
.figures { margin: 0.75rem 0 0; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.7rem 0.9rem; }
.figures dt { color: var(--soft); font-size: 0.82rem; }
.figures dd { margin: 0; font-size: 1.2rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.figures small { display: block; font-size: 0.8rem; font-weight: 400; color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
caption { text-align: left; color: var(--soft); font-size: 0.85rem; padding-bottom: 0.5rem; }
caption span { display: block; position: sticky; left: 0; max-width: calc(100vw - 4rem); }
th, td { text-align: left; vertical-align: top; padding: 0.38rem 1.1rem 0.38rem 0; }
th, td { border-bottom: 1px solid var(--line); }
tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-size: 0.82rem; font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 6.5rem; max-width: 16rem; overflow-wrap: break-word; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { width: 38%; min-width: 5rem; padding-right: 0; }
.one { white-space: nowrap; margin-right: 0.6em; }
.warn { color: var(--stop); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 0.75rem; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 0.92rem; font-weight: 600; margin-bottom: 0.5rem; }
figcaption span { display: block; color: var(--soft); font-weight: 400; font-size: 0.85rem; }
svg { display: block; width: 100%; overflow: visible; }
svg text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .source { fill: var(--source); } svg .target { fill: var(--target); } svg .ratio { fill: var(--left); }
svg .left { fill: var(--left); } svg .drop { fill: var(--drop); } svg .over { fill: var(--stop); }
svg .track { fill: var(--faint); }
svg .axis { stroke: var(--line); } svg .mark { stroke: var(--ink); stroke-dasharray: 2 3; opacity: 0.6; }
svg .limit { stroke: var(--stop); stroke-dasharray: 4 3; }
svg .column:hover { opacity: 0.65; }
details { border-bottom: 1px solid var(--line); }
details:last-child { border-bottom: 0; }
summary { cursor: pointer; padding: 0.45rem 0; overflow-wrap: anywhere; }
summary span { color: var(--soft); font-variant-numeric: tabular-nums; }
.samples { list-style: none; margin: 0 0 0.75rem; padding: 0; }
.samples li { padding: 0.4rem 0 0.4rem 1rem; }
.samples p { overflow-wrap: anywhere; margin: 0.2rem 0; }
.samples .source, .samples .target { border-inline-start: 3px solid var(--source); padding-inline-start: 0.7rem; }
.samples .target { border-color: var(--target); }
.place { color: var(--soft); font-size: 0.85rem; overflow-wrap: anywhere; }
code, .place bdi, .spelt { font: 0.88em/1 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.spelt { color: var(--spelt); }
footer { margin-top: 3rem; color: var(--soft); font-size: 0.85rem; }
@media (max-width: 34rem) {
  body { padding: 1.25rem 0.9rem 3rem; }
  .card { padding: 0.85rem; }
  .wide { display: none; }
  tbody th { min-width: 5.2rem; }
  table { font-size: 0.85rem; }
  th, td { padding-right: 0.6rem; }
  .bar { width: 18%; min-width: 3rem; }
}
@media print { body { max-width: none; } .card, .figures div { break-inside: avoid; } }
"""
