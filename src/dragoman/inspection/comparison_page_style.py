"""How reports of comparisons look: as pages of attention maps do, with tables and charts."""

from dragoman.inspection.page_style import STYLE as MAPS

__all__ = ["STYLE"]

STYLE = (
    MAPS
    + """
:root {
  --better: #2f7d5b; --worse: #a8481a; --spelt: #8a3fa0; --look: #8a6414; --edge: #00000026;
  --c0: #2f6ead; --c1: #c0611a; --c2: #2f8560; --c3: #a8428c;
  --c4: #7a6a12; --c5: #6a55c2; --c6: #b23b3b; --c7: #47707c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --better: #6fc19b; --worse: #f0996a; --spelt: #d19be3; --look: #e0b35a; --edge: #00000080;
    --c0: #7db4ec; --c1: #f0a062; --c2: #6fc79f; --c3: #e58dcb;
    --c4: #d3c15c; --c5: #b0a2f5; --c6: #f08d8d; --c7: #93c0cc;
  }
}
body { max-width: 76rem; }
h2 { font-size: 1.2rem; font-weight: 650; margin: 2.75rem 0 0.75rem; color: var(--ink); }
h2 { scroll-margin-top: 1rem; }
h3 { font-size: 0.95rem; font-weight: 600; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
p { margin: 0.35rem 0; max-width: 60rem; overflow-wrap: anywhere; }
section { content-visibility: auto; contain-intrinsic-size: auto 60rem; }
.soft { color: var(--soft); }
.verdict { margin: 0; border-inline-start: 0.3rem solid var(--level); }
.verdict strong { display: block; font-size: 1.15rem; line-height: 1.4; font-weight: 650; overflow-wrap: anywhere; }
.verdict.go { --level: var(--better); } .verdict.look { --level: var(--look); }
.contents { margin: 1rem 0 0; padding: 0; list-style: none; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; }
.contents { font-size: 0.9rem; }
a { color: var(--source); }
a:focus-visible, summary:focus-visible, input:focus-visible + label, .scroll:focus-visible {
  outline: 2px solid var(--target); outline-offset: 2px;
}
.card + .card { margin-top: 0.75rem; }
.card > .scroll { margin-top: 0; }
.scroll {  /* a shade at an edge beyond which there is more; it goes where there is none */
  background:
    linear-gradient(to right, var(--card) 40%, transparent) left / 2.5rem 100% no-repeat local,
    linear-gradient(to left, var(--card) 40%, transparent) right / 2.5rem 100% no-repeat local,
    linear-gradient(to right, var(--edge), transparent) left / 0.8rem 100% no-repeat scroll,
    linear-gradient(to left, var(--edge), transparent) right / 0.8rem 100% no-repeat scroll;
}
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
caption { text-align: start; color: var(--soft); font-size: 0.85rem; padding-bottom: 0.5rem; }
caption > span { display: block; position: sticky; inset-inline-start: 0; max-width: min(60rem, calc(100vw - 4rem)); }
th, td { text-align: start; vertical-align: top; padding: 0.4rem 1.1rem 0.4rem 0; }
th, td { border-bottom: 1px solid var(--line); }
tbody tr:last-child > * { border-bottom: 0; }
thead th { color: var(--soft); font-size: 0.82rem; font-weight: 500; vertical-align: bottom; }
thead th { max-width: 14rem; overflow-wrap: break-word; }
tbody th { font-weight: 500; min-width: 8rem; max-width: 18rem; overflow-wrap: anywhere; }
.number { text-align: end; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number small { display: block; color: var(--soft); }
table.narrow { width: auto; min-width: min(40rem, 100%); }
.words { min-width: 9rem; }
.scroll + .scroll { margin-top: 1.5rem; }
.setting { max-width: 16rem; min-width: 4rem; overflow-wrap: anywhere; }
.best { font-weight: 700; }
.better { color: var(--better); } .worse { color: var(--worse); }
.tag { font-size: 0.78rem; color: var(--soft); border: 1px solid var(--line); border-radius: 0.3rem; }
.tag { white-space: nowrap; font-weight: 400; padding: 0 0.3rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 0.75rem; }
.charts .card { margin: 0; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: 0.92rem; font-weight: 600; margin-bottom: 0.4rem; overflow-wrap: anywhere; }
figcaption > span { color: var(--soft); font-weight: 400; font-size: 0.85rem; }
.plot { display: block; width: 100%; height: auto; overflow: visible; }
.plot text { font-size: 12px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.plot .unit { font-size: 11px; }
.grid { stroke: var(--line); fill: none; } .axis { stroke: var(--soft); fill: none; }
.line { fill: none; stroke: var(--c); stroke-width: 1.8; stroke-linejoin: round; }
.plot .band { fill: var(--c); fill-opacity: 0.13; stroke: none; display: inline; }
.dot { fill: var(--c); } .spot { fill: transparent; }
.dot:hover, .spot:hover { fill: var(--c); stroke: var(--card); stroke-width: 1.5; }
.c0 { --c: var(--c0); } .c1 { --c: var(--c1); } .c2 { --c: var(--c2); } .c3 { --c: var(--c3); }
.c4 { --c: var(--c4); } .c5 { --c: var(--c5); } .c6 { --c: var(--c6); } .c7 { --c: var(--c7); }
.d1 { stroke-dasharray: 5 3; } .d2 { stroke-dasharray: 1.5 2.5; }
.legend { list-style: none; margin: 0 0 0.75rem; padding: 0; display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; }
.legend { font-size: 0.9rem; }
.legend li { display: flex; align-items: center; gap: 0.45rem; max-width: 100%; }
.legend bdi { min-width: 0; overflow-wrap: anywhere; }
.swatch { width: 26px; height: 10px; flex: none; } .swatch .line { stroke-width: 2.6; }
.named { display: flex; align-items: baseline; gap: 0.45rem; } .named > span { min-width: 0; }
.switch { border: 0; padding: 0; margin: 0 0 0.75rem; font-size: 0.9rem; }
.switch legend { float: left; padding: 0; margin-inline-end: 0.8rem; color: var(--soft); }
.switch input { margin: 0 0.3rem 0 0; accent-color: var(--source); }
.switch label { margin-inline-end: 1rem; cursor: pointer; border-radius: 0.2rem; }
.axis-panel { display: none; }
.curves:has(#over-updates:checked) .over-updates, .curves:has(#over-tokens:checked) .over-tokens,
.curves:has(#over-time:checked) .over-time { display: grid; }
@supports not selector(:has(*)) { .over-updates { display: grid; } .switch { display: none; } }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1.25rem; }
.maps { margin-top: 0.9rem; }
.maps figure { border-top: 1px solid var(--line); padding-top: 0.75rem; }
.text { overflow-wrap: anywhere; margin: 0.25rem 0; max-width: none; padding-inline-start: 0.7rem; }
.text { border-inline-start: 3px solid var(--line); }
.text.source { border-color: var(--source); } .text.reference { border-color: var(--target); }
.said { display: grid; grid-template-columns: 9rem 1.8rem minmax(0, 1fr); gap: 0.15rem 0.8rem; }
.said { margin: 0; align-items: baseline; font-size: 0.97rem; }
.said dt { color: var(--soft); font-size: 0.85rem; overflow-wrap: anywhere; }
.said dd { margin: 0; } .said .text { grid-column: 3; margin: 0.1rem 0; }
.said .number { color: var(--soft); font-size: 0.85rem; }
mark { background: none; color: inherit; border-radius: 0.15rem; padding: 0 0.05rem; text-underline-offset: 0.2em; }
mark.right { color: var(--better); text-decoration: underline solid; font-weight: 600; }
mark.wrong { color: var(--worse); text-decoration: underline wavy; text-decoration-thickness: 1px; }
.card h3 + .said { margin-top: 0.25rem; }
details { border-bottom: 1px solid var(--line); }
details:last-child { border-bottom: 0; }
summary { cursor: pointer; padding: 0.45rem 0; overflow-wrap: anywhere; }
.charts + .soft, .charts + .card, p.soft + .card { margin-top: 0.75rem; }
pre { overflow-x: auto; background: var(--faint); border-radius: 0.4rem; padding: 0.7rem 0.85rem; margin: 0.4rem 0; }
code, pre, .spelt { font: 0.86em/1.5 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { overflow-wrap: anywhere; }
.command { white-space: pre-wrap; overflow-wrap: anywhere; }
.spelt { color: var(--spelt); }
footer { margin-top: 3rem; }
@media (max-width: 34rem) {
  .said { grid-template-columns: minmax(0, 1fr) auto; } .said .text { grid-column: 1 / -1; margin-bottom: 0.5rem; }
  .plot text { font-size: 14px; }
  table { font-size: 0.85rem; } th, td { padding-right: 0.7rem; } tbody th { min-width: 6rem; }
  .narrow td, .narrow th { padding-right: 0.5rem; } .narrow tbody th { min-width: 5rem; }
  .narrow .swatch { width: 14px; }
  .narrow td .soft, .narrow small span + span { display: block; }
}
@media print {
  section { content-visibility: visible; }
  .contents, .switch { display: none; } h2 { break-after: avoid; } .scroll { overflow: visible; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
"""
)
