"""How a report looks: one sheet of A4, the system's own letters, and no colour that carries meaning alone."""

STYLE = """
@page { size: A4; margin: 8mm 10mm }
:root {
  --ink: #16191d; --soft: #565d66; --line: #c9ced6;
  --low: #14694a; --unclear: #8a5a00; --high: #a11b12;
}
* { box-sizing: border-box }
body {
  margin: 0; color: var(--ink); background: #fff;
  font: 12.5px/1.38 system-ui, "Segoe UI", "Liberation Sans", sans-serif;
}
main { max-width: 1000px; margin: 0 auto; padding: 22px 26px }
h1 { font-size: 22px; line-height: 1.2; margin: 0 0 8px; overflow-wrap: anywhere }
h2 { font-size: 13.5px; margin: 14px 0 4px; border-bottom: 1.5px solid var(--ink); padding-bottom: 2px }
h3 { font-size: 12.5px; margin: 4px 0 1px }
p, ul { margin: 2px 0 }
ul { padding-left: 15px }
small, .note, dt { font-size: 10.5px; color: var(--soft) }
small { display: block }
.kind { color: var(--soft) }
.verdict { border: 2px solid; border-left-width: 12px; padding: 6px 12px }
.verdict p { color: var(--ink) }
.verdict .word { font-size: 19px; font-weight: 700; line-height: 1.25; color: inherit }
.low { color: var(--low) }
.unclear { color: var(--unclear) }
.high { color: var(--high) }
td.low, td.unclear, td.high { font-weight: 700; white-space: nowrap }
dl { display: flex; flex-wrap: wrap; gap: 3px 22px; margin: 8px 0 0 }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
th, td { text-align: left; vertical-align: top; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line) }
thead th { font-size: 10.5px; font-weight: 600; color: var(--soft); vertical-align: bottom }
thead small { display: inline }
tbody th { white-space: nowrap }
.exposed td:nth-child(2) { overflow-wrap: anywhere }
.attacks td:nth-child(n+3):nth-child(-n+6), .fixes td:nth-child(n+2) { white-space: nowrap }
.two, .three { display: grid; gap: 0 22px }
.two { grid-template-columns: 1fr 1fr }
.three { grid-template-columns: 1fr 1fr 1fr }
.two > *, .three > * { min-width: 0 }
code { font: 11px ui-monospace, "Liberation Mono", monospace; overflow-wrap: anywhere }
svg { width: 180px; height: 18px; display: block }
.axis { stroke: var(--soft); stroke-width: 1 }
.threshold { stroke: var(--ink); stroke-width: 1.4; stroke-dasharray: 2.5 2 }
.interval { stroke: var(--ink); stroke-width: 5; opacity: .45 }
.risk, .control { fill: var(--ink) }
.guess { fill: #fff; stroke: var(--ink) }
@media screen and (max-width: 760px) {
  main { padding: 14px }
  .two, .three { grid-template-columns: 1fr }
  .attacks thead { display: none }
  .attacks tr { display: block; padding: 5px 0; border-bottom: 1px solid var(--line) }
  .attacks th, .attacks td { display: inline-block; border: 0; padding: 1px 10px 1px 0 }
  .attacks td:nth-child(2) { display: block }
  .attacks td:nth-child(3)::before { content: "right " }
  .attacks td:nth-child(4)::before { content: "guess " }
  .attacks td:nth-child(5)::before { content: "control " }
  .attacks td:nth-child(6)::before { content: "risk " }
}
@media print {
  main { max-width: none; padding: 0 }
  body { font-size: 7.3pt; line-height: 1.16 }
  h1 { font-size: 13pt; margin-bottom: 3px }
  h2 { font-size: 8.6pt; margin: 5px 0 1px }
  h3 { font-size: 8pt; margin: 2px 0 0 }
  small, .note, thead th, dt { font-size: 6.4pt }
  th, td { padding: 1px 6px 1px 0 }
  .verdict { padding: 3px 10px }
  .verdict .word { font-size: 12.5pt }
  code { font-size: 6.4pt }
  section, tr { break-inside: avoid }
  .dense { zoom: .8 }
  .threat { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden }
  svg { width: 130px; height: 14px }
}
"""

LEGEND = (
    "● dot on its 95 % interval: risk; dashed line: threshold; ▼ filled, above: right of people who are not in the "
    "release; △ open, below: a guess."
)
