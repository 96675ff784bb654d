/** The report's style sheet: colours of both themes first, then the parts from top to bottom. */

const lightTheme: Record<string, string> = {
  background: '#f4f7f9',
  surface: '#ffffff',
  raised: '#eef3f6',
  text: '#13202b',
  muted: '#566775',
  line: '#d9e2e8',
  grid: '#e6ecf0',
  accent: '#0069a3',
  good: '#00734f',
  warn: '#8f5600',
  bad: '#b3261e',
  'good-soft': '#e0f4ec',
  'warn-soft': '#fdf1dc',
  'bad-soft': '#fdeae8',
  'series-1': '#0072b2',
  'series-2': '#d55e00',
  'series-3': '#008f68',
  'series-4': '#a04a86',
  'fill-1': 'rgba(0,114,178,.12)',
  marker: '#34495a',
  threshold: '#8a98a5',
  'phase-warm-up': 'rgba(86,103,117,.09)',
  'phase-steady': 'rgba(86,103,117,.02)',
  'phase-fault': 'rgba(230,159,0,.12)',
  'phase-awaiting-eviction': 'rgba(230,159,0,.26)',
  'phase-out-of-sync': 'rgba(213,94,0,.14)',
  'phase-catching-up': 'rgba(0,114,178,.13)',
  'phase-settle': 'rgba(0,158,115,.10)',
}

const darkTheme: Record<string, string> = {
  background: '#0c141b',
  surface: '#131e28',
  raised: '#1a2834',
  text: '#e4ecf2',
  muted: '#9aabb9',
  line: '#263746',
  grid: '#22313e',
  accent: '#5cb8ec',
  good: '#4cd4a6',
  warn: '#f0b656',
  bad: '#ff8f85',
  'good-soft': '#12352c',
  'warn-soft': '#3a2c12',
  'bad-soft': '#43201f',
  'series-1': '#56b4e9',
  'series-2': '#ff9a5a',
  'series-3': '#40d3a4',
  'series-4': '#e59bc6',
  'fill-1': 'rgba(86,180,233,.16)',
  marker: '#b8c7d3',
  threshold: '#71828f',
  'phase-warm-up': 'rgba(154,171,185,.10)',
  'phase-steady': 'rgba(154,171,185,.02)',
  'phase-fault': 'rgba(240,182,86,.12)',
  'phase-awaiting-eviction': 'rgba(240,182,86,.24)',
  'phase-out-of-sync': 'rgba(255,130,70,.17)',
  'phase-catching-up': 'rgba(86,180,233,.17)',
  'phase-settle': 'rgba(64,211,164,.11)',
}

const page = `
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--background);color:var(--text);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
.page{max-width:1440px;margin:0 auto;padding:0 clamp(16px,3vw,40px) 48px}
h1,h2,h3,p,dl,dd,figure,table{margin:0}
h2{font-size:1.25rem;line-height:1.3;letter-spacing:-.01em;margin:48px 0 16px}
h3{font-size:1rem;line-height:1.35}
a{color:var(--accent)}
.muted{color:var(--muted)}
.card,figure{background:var(--surface);border:1px solid var(--line);border-radius:12px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip{position:absolute;left:-9999px}.skip:focus{left:16px;top:16px;background:var(--surface);padding:8px;z-index:9}
.bar{display:flex;align-items:center;gap:12px;padding:20px 0;color:var(--muted);font-size:.875rem}
.bar strong{color:var(--text);font-size:1rem;letter-spacing:-.01em}
.bar svg{flex:none;color:var(--accent)}
.bar span{flex:1;min-width:0;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
button{font:inherit;color:inherit;background:none;border:1px solid var(--line);border-radius:8px;
padding:4px 12px;cursor:pointer}
button:hover{border-color:var(--muted)}
`

const verdict = `
.verdict{padding:clamp(20px,3vw,36px);display:grid;gap:24px 56px;border-top:4px solid var(--tone)}
.good{--tone:var(--good);--soft:var(--good-soft)}
.warn{--tone:var(--warn);--soft:var(--warn-soft)}
.bad{--tone:var(--bad);--soft:var(--bad-soft)}
.verdict h1{font-size:clamp(1.75rem,4.4vw,2.75rem);line-height:1.12;letter-spacing:-.025em;margin:12px 0}
.verdict p{max-width:68ch}
.badge{display:inline-block;padding:2px 10px;border-radius:99px;font-size:.8125rem;font-weight:600;
background:var(--soft);color:var(--tone)}
.compare{display:grid;grid-template-columns:auto 1fr auto;gap:12px 14px;align-items:center;align-content:center}
.compare dt{font-size:.875rem;color:var(--muted)}
.compare dd{height:14px;border-radius:7px;background:var(--raised);overflow:hidden}
.compare dd i{display:block;height:100%;border-radius:7px;background:var(--fill);width:var(--w);min-width:3px}
.compare dd.note{height:auto;background:none}
.compare dd.value{height:auto;background:none;font-weight:600;text-align:right;white-space:nowrap}
.compare .note{grid-column:1/-1;font-size:.875rem;color:var(--muted);margin-top:4px}
.scenario{color:var(--muted);font-size:.9375rem;margin-top:16px}
@media(min-width:960px){.verdict{grid-template-columns:minmax(0,1.25fr) minmax(0,1fr)}}
`

const cards = `
.cards{display:grid;gap:16px;grid-template-columns:repeat(auto-fit,minmax(min(100%,250px),1fr));margin-top:16px}
@media(min-width:1180px){.cards{grid-template-columns:repeat(4,minmax(0,1fr))}}
.cards .card{padding:18px 20px;display:flex;flex-direction:column;gap:6px;min-width:0}
.cards h3{font-size:.875rem;font-weight:500;color:var(--muted)}
.cards .wide{grid-column:span 2}
@media(max-width:640px){.cards .wide{grid-column:auto}.cards .card{padding:16px}}
.big{font-size:1.875rem;font-weight:650;line-height:1.15;letter-spacing:-.02em}
.big small{font-size:.55em;font-weight:500;color:var(--muted);letter-spacing:0;margin-left:.2em}
.card p.sub{font-size:.875rem;color:var(--muted)}
.card .foot{margin-top:auto;padding-top:8px}
.gauge,.split{display:block;width:100%;overflow:visible}
.gauge{height:auto;max-width:420px}
.split{height:10px;border-radius:5px}
.key{display:flex;flex-wrap:wrap;gap:2px 14px;font-size:.8125rem;color:var(--muted);margin-top:6px}
.key i,.swatch{display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:6px}
.figures{width:100%;border-collapse:collapse;font-size:.9375rem}
.figures th{font-weight:500;color:var(--muted);font-size:.8125rem;text-align:right;padding:4px 0 4px 8px;vertical-align:bottom;line-height:1.25}
.figures th:first-child{text-align:left;padding-left:0}
.figures td,.figures tbody th{vertical-align:baseline}
.figures td{text-align:right;padding:4px 0 4px 8px;white-space:nowrap}
.figures tbody tr{border-top:1px solid var(--line)}
.figures .strong td{font-weight:650}
@media(max-width:480px){.figures{font-size:.8125rem}.figures th,.figures td{padding-left:4px}}
`

const charts = `
.ribbon{display:flex;flex-wrap:wrap;gap:4px;list-style:none;margin:0 0 16px;padding:0}
.ribbon li{flex:var(--grow) 1 148px;border-radius:8px;padding:6px 10px;font-size:.8125rem;line-height:1.35;
border:1px solid var(--line);background:linear-gradient(var(--fill),var(--fill)),var(--surface)}
.ribbon b{display:block;font-weight:600}
.ribbon span{color:var(--muted)}
.markers{display:flex;flex-wrap:wrap;gap:6px 18px;list-style:none;margin:0 0 16px;padding:0;font-size:.875rem}
.number{display:inline-grid;place-items:center;width:1.4em;height:1.4em;border-radius:50%;
background:var(--marker);color:var(--surface);font-size:.75rem;font-weight:600;margin-right:6px}
.hint{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;min-height:34px;font-size:.875rem;color:var(--muted);margin-bottom:12px}
.charts{display:grid;gap:16px;grid-template-columns:minmax(0,1fr)}
@media(min-width:1000px){.charts{grid-template-columns:repeat(2,minmax(0,1fr))}}
.charts .tall,.charts>:last-child:nth-child(even){grid-column:1/-1}
figure{padding:16px 12px 8px;min-width:0}
figcaption{padding:0 8px}
figcaption p{font-size:.875rem;color:var(--muted)}
figcaption .top{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 16px}
figcaption [data-when]{font-size:.8125rem;color:var(--muted);white-space:nowrap}
.legend{display:flex;flex-wrap:wrap;gap:2px 4px;margin:8px -8px 0;font-size:.8125rem}
.legend button,.legend span.item{display:inline-flex;align-items:center;border:0;border-radius:6px;padding:2px 8px}
.legend button:hover{background:var(--raised)}
.legend button[aria-pressed=false]{opacity:.45;text-decoration:line-through}
.legend svg{width:22px;height:8px;margin-right:6px;flex:none}
.legend output{margin-left:6px;font-weight:600}
.plot{min-height:220px;border-radius:8px;touch-action:pan-y}
.u-hz .u-cursor-x,.u-vt .u-cursor-y{border-right:1px solid var(--marker)}
.u-select{background:var(--fill-1)}
`

const story = `
.journey{overflow-x:auto;padding:16px 20px}
.journey svg{display:block;min-width:720px;width:100%;height:auto}
.steps{width:100%;border-collapse:collapse;font-size:.9375rem}
.steps th{text-align:left;font-size:.8125rem;font-weight:500;color:var(--muted);padding:12px;border-bottom:1px solid var(--line)}
.steps td{padding:10px 12px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
.steps td.detail{overflow-wrap:anywhere}
.steps tr:last-child td{border-bottom:0}
.steps .num{text-align:right;white-space:nowrap}
.steps .unit{display:none}
.steps td.step{font-weight:600}
@media(min-width:1100px){.steps td.step{min-width:17em}}
@media(max-width:1099px){.steps td.step{min-width:9em}}
.actor{display:inline-flex;align-items:center;gap:6px;font-size:.8125rem;font-weight:600;white-space:nowrap;
padding:1px 9px;border-radius:99px;border:1px solid currentColor}
.actor-leader{color:var(--series-1)}.actor-controller{color:var(--series-4)}
.actor-follower{color:var(--series-2)}.actor-harness{color:var(--muted)}
.scroll{overflow-x:auto}
details{margin-top:16px}
summary{cursor:pointer;font-weight:600;padding:12px 20px}
details[open]>summary{border-bottom:1px solid var(--line)}
@media(max-width:720px){
.steps thead{position:absolute;left:-9999px}
.steps tr{display:grid;grid-template-columns:auto auto 1fr;gap:4px 10px;align-items:center;padding:12px 14px;border-bottom:1px solid var(--line)}
.steps td{padding:0;border:0}
.steps td.step,.steps td.detail{grid-column:1/-1;order:1}
.steps .partitions{justify-self:end;font-size:.8125rem;color:var(--muted)}
.steps .unit{display:inline}
.steps tr:last-child{border-bottom:0}
}
.prose{padding:20px 24px;display:grid;gap:12px;max-width:none}
.prose p{max-width:80ch}
.terms{display:grid;gap:14px 32px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}
.terms dt{font-weight:600}
.terms dd{color:var(--muted);font-size:.9375rem}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,260px),1fr));padding:8px 20px 20px;gap:0 32px}
.facts div{display:flex;justify-content:space-between;gap:16px;padding:6px 0;border-bottom:1px solid var(--line);font-size:.875rem}
.facts dt{color:var(--muted)}
.facts dd{text-align:right;overflow-wrap:anywhere}
footer{margin-top:40px;font-size:.875rem;color:var(--muted)}
code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em;overflow-wrap:anywhere}
@media print{
body{background:#fff}.page{max-width:none;padding:0}
#theme,.hint,.skip{display:none!important}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.cards .card,.verdict,.journey,figure,tr,.terms div{break-inside:avoid}
h2{break-after:avoid}
.journey{overflow:visible}.journey svg{min-width:0}
details:not([open])>*{display:none}
}
`

export function styleSheet(): string {
  const light = declarations(lightTheme)
  const dark = declarations(darkTheme)
  return [
    `:root{color-scheme:light;${light}}`,
    `@media(prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${dark}}}`,
    `:root[data-theme=dark]{color-scheme:dark;${dark}}`,
    page,
    verdict,
    cards,
    charts,
    story,
  ].join('\n')
}

/** Names that both themes must define; a test holds them to it. */
export const themeNames = [Object.keys(lightTheme), Object.keys(darkTheme)] as const

function declarations(theme: Record<string, string>): string {
  return Object.entries(theme)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';')
}
