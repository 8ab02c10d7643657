// Generated from the files in assets/ by `npm run generate`; edit those.
// deno-fmt-ignore-file

/** The files that pages link to, by name. */
export const assets = {
  "console.css": {
    hash: "879f24c76e657e2e",
    text: `:root{color-scheme:light dark;--a:light-dark(#f7f7f4,#121413);--b:light-dark(#ffffff,#1a1d1c);--c:light-dark(#f1f1ec,#232726);--d:light-dark(#e0e0d9,#303635);--e:light-dark(#8b8f88,#6f7774);--f:light-dark(#1b1e1d,#e9ebe8);--g:light-dark(#5a605c,#a3aaa6);--h:light-dark(#0f6653,#6fcfb3);--i:light-dark(#ffffff,#0c1613);--j:light-dark(#e2f1ec,#1b322b);--k:light-dark(#b3261e,#ff9a91);--l:light-dark(#fcebe9,#3a1f1d);--m:light-dark(#7a5200,#e9bd6c);--n:light-dark(#fbf1dc,#33290f);--o:light-dark(#2459a9,#93b9f5);--p:.25rem;--q:.5rem;--r:.75rem;--s:1rem;--t:1.5rem;--u:2.25rem;--v:.5rem;--w:ui-monospace,"SF Mono","Cascadia Code","Roboto Mono",Menlo,Consolas,monospace;--x:0 1px 2px light-dark(rgb(0 0 0 / 5%),rgb(0 0 0 / 40%))}*{box-sizing:border-box}html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;background:var(--a);color:var(--f);scrollbar-color:var(--e) transparent}body{margin:0;min-height:100vh;display:grid;grid-template-columns:14.5rem minmax(0,1fr);font-size:.9375rem}a{color:var(--h);text-underline-offset:.2em;text-decoration-thickness:.06em}a:hover{text-decoration-thickness:.12em}:focus-visible{outline:2px solid var(--h);outline-offset:2px;border-radius:4px}main:focus,:is(.palette input,.points a,.dense th a):focus-visible{outline:none}.hide:not(:focus){position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}.skip{position:absolute;left:var(--s);top:-5rem;background:var(--b);padding:var(--q) var(--s);border-radius:var(--v);z-index:3}.skip:focus{top:var(--q)}.side{border-right:1px solid var(--d);background:var(--b);padding:var(--t) var(--s);display:flex;flex-direction:column;gap:var(--s);position:sticky;top:0;height:100vh;overflow-y:auto}.brand{display:inline-flex;align-items:center;gap:var(--q);color:var(--f);font-weight:650;letter-spacing:-.01em;text-decoration:none}.top{display:flex}.brand .ink{fill:var(--h)}.brand .paper{fill:none;stroke:var(--b);stroke-width:1.8;stroke-linecap:round}.switch{display:flex;justify-content:space-between;align-items:baseline;gap:var(--q);padding:var(--q) var(--r);border:1px solid var(--d);border-radius:var(--v);background:var(--a);color:var(--f);font-weight:600;text-decoration:none;overflow-wrap:anywhere}.switch bdi{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2;overflow:hidden}.switch .hint{margin:0;font-weight:400;white-space:nowrap}.finder{display:flex;align-items:center;gap:var(--q);padding:.3rem var(--r);border:1px solid var(--d);border-radius:var(--v);color:var(--g);text-decoration:none}.finder svg{flex:none;fill:none;stroke:currentcolor;stroke-width:1.6;stroke-linecap:round}.finder kbd{margin-left:auto}.side nav ul + ul{margin-top:var(--r);padding-top:var(--r);border-top:1px solid var(--d)}.side nav a{display:block;padding:.34rem var(--r);border-radius:var(--v);color:var(--f);text-decoration:none}.side nav a:hover{background:var(--c)}.side nav a[aria-current]{background:var(--j);color:var(--h);font-weight:600}.account{margin-top:auto;font-size:.8125rem;display:grid;gap:var(--q)}.account .role::before{content:" · "}main{padding:var(--u);width:100%;max-width:74rem;min-width:0;container:page / inline-size}main.wide{max-width:100rem;padding-inline:var(--t)}main.bare{container-type:normal;grid-column:1 / -1;justify-self:center;align-self:start;max-width:27rem;margin:10vh var(--s) var(--t);padding:var(--u);background:var(--b);border:1px solid var(--d);border-radius:.75rem;box-shadow:var(--x)}main.bare h1{margin-top:var(--t)}.waiting:has(+ *),.step:has(+ .step){display:none}.step progress{display:block;width:100%;accent-color:var(--h)}h1,h2,h3{line-height:1.25;letter-spacing:-.012em;margin:0;font-weight:650;overflow-wrap:anywhere}h1{font-size:1.5rem}h2{font-size:1.0625rem}h3{font-size:.9375rem}p{margin:0 0 var(--r)}dl,dd{margin:0;overflow-wrap:anywhere}:where(.account,.notice,.versions,.leaf,.entry) p{margin:0;overflow-wrap:anywhere}:where(.side nav ul,.trail ol,.set,.cards,.tree,.tree ul,.versions,.session,.hits){list-style:none;margin:0;padding:0}section{margin-top:var(--u)}section>.line,.message,dialog h2{margin-bottom:var(--r)}.heading{margin-bottom:var(--t)}.line,.actions,.filters{display:flex;flex-wrap:wrap;align-items:center;gap:var(--q)}.line{justify-content:space-between;gap:var(--q) var(--s)}.lede{color:var(--g);margin:var(--q) 0 0;max-width:46rem}.trail ol{display:flex;flex-wrap:wrap;gap:var(--p);margin:0 0 var(--p)}.trail li + li::before{content:"/";margin-right:var(--p)}.none,.trail a,.account :is(.role,.version){color:var(--g)}summary,thead th,.hint,.aside,.lack,.trail ol,:is(.figures,.facts) dt,.hits .kind,.tree .folder{color:var(--g);font-size:.8125rem}section + .hint,.facts + .hint{margin-top:var(--t)}.lack{border-left:3px solid var(--e);padding:var(--p) var(--r);margin:var(--q) 0}code,pre,kbd,textarea.code,.mono{font-family:var(--w);font-size:.84em}code{overflow-wrap:anywhere}time:not(.exact),.whole,td summary,.series tbody th{white-space:nowrap}data{font-variant-numeric:tabular-nums}mark{background:var(--n);color:var(--m);border-radius:3px;padding:0 .15em;font-weight:600}button,.button{display:inline-flex;align-items:center;justify-content:center;font:inherit;font-size:.875rem;font-weight:550;line-height:1.25rem;padding:.4rem .85rem;border-radius:var(--v);border:1px solid var(--e);background:var(--b);color:var(--f);cursor:pointer;text-decoration:none}button:hover,.button:hover,.hits a:hover{background:var(--c)}.primary{background:var(--h);border-color:var(--h);color:var(--i)}.primary:hover{background:color-mix(in oklab,var(--h) 88%,var(--f))}.danger{border-color:var(--k);color:var(--k)}.danger:hover{background:var(--l)}.plain{border-color:transparent;background:none;color:var(--h);padding-inline:var(--q)}.account .plain{justify-self:start;margin-left:calc(-1 * var(--q));padding-block:.1rem}.small{font-size:.8125rem;padding:.15rem .55rem}[aria-busy="true"]{opacity:.65;cursor:progress}[aria-disabled="true"]{color:var(--g);cursor:default}.button[aria-disabled="true"]{border-color:var(--d);background:none}.actions,.field>.hint,.menu,td>details{margin:0}.stack{display:grid;gap:var(--s);max-width:36rem}.stack.wide{max-width:none}.field{display:grid;align-content:start;gap:var(--p);min-width:0}label,legend{font-size:.8125rem;font-weight:600}input:not([type="checkbox"]),select{height:2.25rem}input:not([type="checkbox"]),select,textarea{font:inherit;font-size:.875rem;width:100%;min-width:0;padding:.4rem .6rem;border:1px solid var(--e);border-radius:var(--v);background:var(--b);color:var(--f)}textarea{resize:vertical;line-height:1.55;field-sizing:content;min-height:3.5rem;max-height:70vh}textarea.code{font-family:var(--w);font-size:.8125rem}.check{display:flex;align-items:center;gap:var(--q)}.check label{font-weight:400;font-size:.875rem}input[type="checkbox"]{width:1.05rem;height:1.05rem;accent-color:var(--h);margin:0;flex:none}fieldset{border:0;margin:0;padding:0;min-width:0}.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:0 var(--r)}.row:has([type="datetime-local"]){grid-template-columns:repeat(auto-fit,minmax(min(13rem,100%),1fr))}.row>.field{grid-row:span 3;grid-template-rows:subgrid;margin-bottom:var(--r)}.row>.field>label{align-self:end}.filters{position:relative;margin-bottom:var(--r)}.filters>.field{display:flex;flex-wrap:wrap;align-items:center;gap:var(--p) var(--q)}.filters>.field:not(.check)>label{font-weight:400;color:var(--g)}.filters>.field>select{width:auto;max-width:15rem}.filters>.field>input:not([type="checkbox"]){width:10rem}.filters>.field>input[type="number"]{width:5rem}.filters>.long{flex:1 1 11rem}.filters>.long>:is(input,select):not([type="checkbox"]){flex:1;width:8rem;max-width:none}.filters>.check{padding:0 var(--p)}.menu:not(.wide){position:relative}.menu>summary{height:2.25rem;list-style:none;color:var(--f);font-weight:400}.menu>summary::-webkit-details-marker{display:none}.menu>summary::after{content:"";width:.4em;height:.4em;margin:-.2em 0 0 .6em;border:solid currentcolor;border-width:0 1.5px 1.5px 0;rotate:45deg}.menu>.panel{position:absolute;z-index:2;top:calc(100% + var(--p));left:0;min-width:10rem;box-shadow:0 .5rem 1.5rem rgb(0 0 0 / 15%)}.menu.wide>.panel{left:auto;right:0;width:min(46rem,100%);padding-bottom:var(--p)}.set{align-items:baseline;gap:var(--q);margin:0 0 var(--r);font-size:.8125rem}.set .chip,.versions li[aria-current] .chip.live{background:var(--b)}:is(.switch,.finder,a.chip):hover{border-color:var(--e)}@media (scripting: enabled){.unscripted{display:none}}
:where(.card,.empty,.panel,.chart,.use,.message,.diff,.leaf,.versions,.hits,table){background:var(--b);border:1px solid var(--d);border-radius:var(--v)}:where(.card,.empty,.panel,.chart){padding:var(--s);min-width:0}.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(17rem,1fr));gap:var(--s)}.split{display:grid;grid-template-columns:minmax(0,3fr) minmax(0,2fr);gap:var(--t);align-items:start}.halves{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:var(--t)}.empty{text-align:center;padding:var(--u) var(--s);border-style:dashed}.empty p{margin:0 auto;max-width:34rem;color:var(--g)}.empty .title{color:var(--f);font-weight:600;margin-bottom:var(--p)}.notice{border:1px solid var(--e);border-left-width:4px;border-radius:var(--v);background:var(--b);padding:var(--r) var(--s);margin-bottom:var(--s)}.notice strong{margin-right:var(--p)}.notice.done{border-color:var(--h);background:var(--j)}.notice.warning{border-color:var(--m);background:var(--n)}.notice.error{border-color:var(--k);background:var(--l)}.copy{position:relative}.copy>code,.copy>pre{display:block;margin:var(--q) 0;padding:var(--r);background:var(--a);border:1px solid var(--d);border-radius:var(--v);user-select:all}.copy>code{font-size:.875rem;padding-right:5.5rem;margin-bottom:var(--s)}.copy>button{position:absolute;top:.6rem;right:var(--q);padding:.1rem .6rem;font-size:.8125rem}.use details{margin:0;padding:var(--p) var(--s)}.use details + details,.message>pre + pre,.versions li + li{border-top:1px solid var(--d)}.use summary{color:var(--f)}.use pre{white-space:pre;overflow-x:auto}.use button{top:var(--p)}.steps{margin:var(--r) 0 0;padding-left:var(--t);display:grid;gap:var(--q)}.chips{display:flex;flex-wrap:wrap;gap:var(--p)}.chip{display:inline-flex;align-items:center;gap:.35em;font-size:.8125rem;line-height:1.4;padding:.05rem .55rem;border:1px solid var(--d);border-radius:99px;background:var(--c);color:var(--f);text-decoration:none;overflow-wrap:anywhere}.chip.live{background:var(--j);border-color:transparent;color:var(--h)}.chip.off{background:none;border-style:dashed;border-color:var(--e);color:var(--g)}.chip.bad{background:var(--l);border-color:transparent;color:var(--k)}.chip b{font-weight:650}.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(6rem,1fr));gap:var(--s)}.figures div{display:flex;flex-direction:column-reverse;justify-content:flex-end}.figures dd{font-size:1.375rem;font-weight:600;letter-spacing:-.015em}.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(10.5rem,1fr));gap:var(--r) var(--s)}* + .facts,.facts + h3,pre + h3,.pager{margin-top:var(--s)}h3 + pre,.menu .check + .check,.steps .use,.session .session{margin-top:var(--q)}@container page (min-width: 22rem){.facts div:last-child:has(> dd>code){grid-column:span 2}}
table{width:100%;border-collapse:separate;border-spacing:0}th,td{text-align:left;vertical-align:top;padding:.55rem .8rem;border-top:1px solid var(--d);font-weight:400;max-width:22rem;overflow-wrap:break-word}thead th{border-top:0;white-space:nowrap}tbody th{font-weight:600}tbody tr:hover{background:color-mix(in oklab,var(--b),var(--c) 55%)}th.number,td.number,.scroller :is(td,th + th){text-align:right;white-space:nowrap}td.main{width:40%;max-width:none;overflow-wrap:anywhere}td .hint,th .hint{margin:0;font-weight:400}.whole>.hint{white-space:normal}.dense{font-size:.8125rem}.dense:not(:has(.main)){width:auto;min-width:min(44rem,100%)}.dense thead th,.dense .chip{font-size:.75rem}.dense :is(th,td){padding:.4rem .45rem;max-width:15rem;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;vertical-align:middle}.dense :is(th,td):first-child{padding-left:.8rem}.dense :is(th,td):last-child{padding-right:.8rem}.dense td.main{width:50%;max-width:0}.dense tbody tr{position:relative}.dense tbody th{font-weight:500}.dense a{text-decoration:none}.dense a:hover{text-decoration:underline}.dense th a::after{content:"";position:absolute;inset:0}.dense tr:has(th a:focus-visible){outline:2px solid var(--h);outline-offset:-2px}.dense td a{position:relative;z-index:1;color:inherit}.scroller,.scroll{overflow-x:auto}.scroller tbody th{position:sticky;left:0;background:var(--b)}pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;line-height:1.6;font-size:.8125rem}.message h3{font-size:.75rem;font-family:var(--w);font-weight:600;letter-spacing:0;color:var(--g);padding:var(--q) var(--s);border-bottom:1px solid var(--d)}.message pre{padding:var(--r) var(--s)}.message.assistant{border-left:3px solid var(--h)}.message.system h3::after{content:" · instructions";font-family:system-ui,sans-serif;font-weight:400}details{margin-top:var(--r)}summary{cursor:pointer;padding:var(--p) 0}.diff{font-family:var(--w);font-size:.8125rem;line-height:1.6;padding:var(--q) 0;white-space:pre-wrap;overflow-wrap:anywhere;max-height:75vh;overflow-y:auto}.diff ins,.diff del,.diff .same,.diff .hunk{display:block;text-decoration:none;padding:0 var(--s) 0 2.25rem;text-indent:-1.25rem;unicode-bidi:plaintext}.diff .sign{display:inline-block;width:1.25rem;text-indent:0;font-weight:700}.diff ins{background:var(--j)}.diff del{background:var(--l)}.diff b{font-weight:inherit;border-radius:3px;padding:.1em 0;text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:3px}.diff ins b{background:color-mix(in oklab,var(--j),var(--h) 22%)}.diff del b{background:color-mix(in oklab,var(--l),var(--k) 20%)}.diff .hunk{color:var(--g);margin:var(--p) 0}.tree .folder{padding:var(--s) 0 var(--p)}.tree .leaf{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:var(--p) var(--s);align-items:center;padding:var(--r) var(--s);margin-bottom:var(--q)}.versions li{padding:var(--r) var(--s)}.versions li[aria-current]{background:var(--j);border-radius:inherit}.versions .hint{margin-top:.15rem}.chart{container:chart / inline-size;margin:0}.chart svg{display:block;direction:ltr;width:100%;height:auto;overflow:visible}.chart text{fill:var(--g);font-size:12px;font-variant-numeric:tabular-nums}@container chart (min-width: 58rem){.chart text{font-size:10.5px}}
@container chart (max-width: 42rem){.chart text{font-size:16px}.labels text:nth-of-type(even){display:none}}
@container chart (max-width: 29rem){.chart text{font-size:24px}.chart .title:has(+ tspan),.ticks text:not(:first-child,:last-child){display:none}.ticks text:first-child{transform:translateY(-4px)}.ticks text:last-child{transform:translateY(14px)}.labels{transform:translateY(8px)}}
.chart .title{fill:var(--f);font-weight:600}.ink-1{color:var(--h)}.ink-2{color:var(--o)}.ink-3{color:var(--k)}.chart path,.spark path{stroke:currentColor;fill:none}.chart :is(tspan,circle),.bar rect{fill:currentColor}.hatched{stroke-dasharray:2 2}.line{stroke-width:2}.dashed{stroke-dasharray:5 3}.chart .grid{stroke:var(--d)}.chart .axis{stroke:var(--e)}.chart .mark{stroke:var(--e);stroke-dasharray:3 3}.chart .mark-label{fill:var(--f);font-weight:600;paint-order:stroke;stroke:var(--b);stroke-width:4px}.points text,.totals text{text-anchor:end;transform:translateX(792px)}.points path{stroke:transparent;pointer-events:stroke}.points text{fill:var(--f);opacity:0;pointer-events:none}.points a:hover path{stroke:color-mix(in oklab,var(--f) 10%,transparent)}.points a:focus-visible path{stroke:color-mix(in oklab,var(--h) 40%,transparent)}.points a:is(:hover,:focus-visible) text{opacity:1}.points:has(a:is(:hover,:focus-visible)) + .totals{display:none}.bar .rest{fill:var(--d)}.spark{display:block;width:5.25rem;height:1.375rem}.spark path{stroke-width:4}.costs{align-items:start}.costs h3{margin-bottom:var(--q)}.panel>p:last-child{margin-bottom:0}.series td,.series thead th{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.series :is(th,td){min-width:0;padding:.35rem .6rem}.series thead th:first-child{text-align:left}.session{display:grid;grid-template-columns:minmax(0,1fr);gap:var(--q)}.session .session:not(.deep){padding-left:var(--t);border-left:2px solid var(--d)}.entry{display:grid;gap:var(--q)}.entry .output{border-left:3px solid var(--h);padding-left:var(--r)}.bar{display:block;width:100%;height:.5rem;margin:var(--q) 0;border-radius:99px}dialog{border:1px solid var(--d);border-radius:.75rem;background:var(--b);color:var(--f);padding:var(--t);max-width:min(32rem,calc(100vw - 2rem));box-shadow:0 1rem 3rem rgb(0 0 0 / 25%)}dialog::backdrop{background:rgb(0 0 0 / 45%)}.shortcuts{display:grid;grid-template-columns:repeat(2,max-content minmax(0,1fr));gap:var(--q) var(--r);margin:0 0 var(--t)}.palette{margin-top:12vh;width:38rem;max-width:calc(100vw - 2rem);padding:0;overflow:hidden}.palette input{height:3rem;padding:0 var(--s);border:0;border-bottom:1px solid var(--d);border-radius:0;font-size:1rem}.palette>div{max-height:55vh;overflow-y:auto}.palette>.hint{margin:0;padding:var(--q) var(--s);border-top:1px solid var(--d)}.palette .empty,.palette .hits{border:0}.hits{padding:var(--p)}.hits a{display:grid;grid-template-columns:6rem minmax(0,max-content) minmax(0,1fr);gap:0 var(--r);align-items:baseline;padding:.4rem var(--r);border-radius:calc(var(--v) - var(--p) / 2);color:var(--f);text-decoration:none;overflow-wrap:anywhere}.hits a:focus-visible,.palette:has(input:focus) li:first-child a{background:var(--j);outline:none}kbd{border:1px solid var(--e);border-bottom-width:2px;border-radius:4px;padding:0 .35em}@media (max-width: 62rem){.split,.halves{grid-template-columns:minmax(0,1fr)}main{padding:var(--t)}}
@media (max-width: 48rem){body{display:block}.side{position:static;height:auto;border-right:0;border-bottom:1px solid var(--d);padding:var(--r) var(--s) 0;gap:var(--q);display:grid;grid-template-columns:auto minmax(0,1fr) auto;align-items:center}.switch{padding:var(--p) var(--r)}.switch .hint,.finder kbd{display:none}.finder{padding:.4rem}.finder span{position:absolute;width:1px;overflow:hidden;clip-path:inset(50%)}.account>.plain{display:none}.hits a{grid-template-columns:5.5rem minmax(0,1fr)}.hits .hint{grid-column:2}.palette>.hint{display:none}.side nav{grid-column:1 / -1;display:flex;overflow-x:auto;margin:0 calc(-1 * var(--s));padding:0 var(--r) var(--q);scrollbar-width:thin}.side nav ul,.side nav ul + ul{display:flex;margin:0;padding:0;border:0}.account{grid-column:1 / -1;grid-row:3;display:flex;align-items:center;gap:var(--r);margin:0;border-top:1px solid var(--d);padding:var(--q) 0}.account form{margin-left:auto}.account .version{display:none}main,main.wide{padding:var(--s)}.session .session:not(.deep){padding-left:var(--q)}.tree .leaf{grid-template-columns:minmax(0,1fr)}}
@container page (max-width: 46rem){table:not(.series,.scroller>table){border:0;background:none;& thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}&,& tbody,& tr,& td,& tbody th{display:block;width:auto}& td:empty{display:none}& tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(12rem,100%),1fr));column-gap:var(--s);background:var(--b);border:1px solid var(--d);border-radius:var(--v);padding:var(--q) var(--s);margin-bottom:var(--q)}& tbody th,& td.main{grid-column:1 / -1}& td,& tbody th,& td.number,& td.main{border:0;padding:var(--p) 0;width:auto;text-align:left;white-space:normal}& td[data-label]::before{content:attr(data-label) ": ";color:var(--g);font-size:.8125rem}}
td .chips,td form{display:inline-flex}td details{display:inline-block}.health table:not(.series) tr{grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr))}.health td :is(a,data,.hint){white-space:nowrap}table.dense tbody tr{display:flex;flex-wrap:wrap;align-items:baseline;gap:0 var(--r);padding:var(--q) var(--r)}table.dense tbody :is(th,td):nth-child(n){max-width:100%;padding:.1rem 0;white-space:nowrap}table.dense tbody tr td.main{flex:0 0 100%;max-width:100%;white-space:nowrap}.menu:not(.wide){position:static}.menu>.panel{right:0}.filters>.field>select{max-width:10.5rem}.filters>.long{flex-basis:100%}.scroller :is(th,td){padding:.4rem .5rem;font-size:.8125rem}.scroller table:not(:has(th:nth-child(5))) :is(th,td){padding:.4rem .3rem;font-size:.75rem;white-space:normal;& :is(data,.hint span){white-space:nowrap}& .hint{font-size:inherit}}
}
@media (prefers-reduced-motion: no-preference){button,.button,.chip,.side nav a{transition:background-color .12s,border-color .12s}}
@media print{.side,.filters,.actions{display:none}}
`,
  },
  "console.js": {
    hash: "f99930e235ea119c",
    text: `const clock = { hour: "numeric", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 };
const exact = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", ...clock });
const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000]];
function ago(at) {
const past = Date.now() - at.getTime(), away = Math.abs(past);
if (away >= 7 * 86_400_000) {
const year = at.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
return at.toLocaleDateString("en-GB", { day: "numeric", month: "short", year });
}
const [unit, size] = units.find(([, size]) => away >= size) ?? [];
if (!size) return "just now";
const words = \`\${Math.floor(away / size)} \${unit}\`;
return past < 0 ? \`in \${words}\` : \`\${words} ago\`;
}
function showTimes(part) {
for (const element of part.querySelectorAll("time[datetime]")) {
const time = element, at = new Date(time.dateTime);
if (time.className === "ago hour") {
time.title = \`In the hour of \${exact.format(at)}\`;
time.textContent = Math.abs(Date.now() - at.getTime()) < 3_600_000 ? "in the last hour" : ago(at);
} else if (time.className === "ago") {
time.title = exact.format(at);
time.textContent = ago(at);
} else if (!time.title) {
time.title = time.textContent ?? "";
time.textContent = exact.format(at);
}
}
}
setInterval(() => showTimes(document), 60_000);
showTimes(document);
const current = (document.querySelector(".side [aria-current]"));
const bar = current?.closest("nav");
if (current && bar) bar.scrollLeft = current.offsetLeft - bar.offsetLeft - bar.clientWidth / 2;
for (const element of document.querySelectorAll("[data-address]")) {
const { href } = new URL(element.getAttribute("data-address") ?? "", location.href);
element.textContent = href.replace(/\\/$/, "").replaceAll("'", "%27");
}
for (const secret of document.querySelectorAll(".copy > code, .copy > pre")) {
if (!navigator.clipboard) break;
const button = (make("button", "Copy"));
button.type = "button";
button.addEventListener("click", async () => {
await navigator.clipboard.writeText(secret.textContent ?? "");
button.textContent = "Copied";
});
secret.after(button);
}
document.addEventListener("submit", (event) => {
const form = event.target;
if (form.method !== "post") return;
if (form.dataset.sent) return void event.preventDefault();
form.dataset.sent = "yes";
event.submitter?.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => {
for (const form of document.forms) delete form.dataset.sent;
for (const button of document.querySelectorAll("[aria-busy]")) button.removeAttribute("aria-busy");
});
const off = "promptledger-keys-off";
let storage;
try {
storage = localStorage;
} catch {
}
const focused = "pl-field";
const filters = (document.querySelector("form.filters"));
filters?.addEventListener("change", ({ target }) => {
if (!(target.closest("details.wide"))) filters.requestSubmit();
});
filters?.addEventListener("submit", () => storage?.setItem(focused, document.activeElement?.id ?? ""));
filters?.addEventListener("formdata", ({ formData }) => {
for (const [name, value] of [...formData]) if (value === "") formData.delete(name);
});
const changed = (filters?.elements.namedItem(storage?.getItem(focused) ?? ""));
storage?.removeItem(focused);
changed?.closest("details")?.setAttribute("open", "");
changed?.focus();
const isMac = /Mac|iP/.test(navigator.platform), modified = isMac ? "⌘ K" : "Ctrl K";
let isGoing = false;
const isWriting = (target) =>
target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
document.addEventListener("keydown", (event) => {
if (document.querySelector("dialog[open]")) return;
if (event.key === "k" && (isMac ? event.metaKey : event.ctrlKey) && !event.altKey) {
event.preventDefault();
return openSearch();
}
if (event.ctrlKey || event.metaKey || event.altKey || isWriting(event.target)) return;
if (storage?.getItem(off)) return;
if (event.key === "?") return showShortcuts();
if (event.key === "/") {
event.preventDefault();
openSearch();
} else if (event.key === "g") {
isGoing = true;
setTimeout(() => isGoing = false, 1_200);
} else if (isGoing) {
isGoing = false;
event.preventDefault();
goals().get(event.key)?.click();
}
});
function goals() {
const found = new Map();
for (const link of (document.querySelectorAll(".side nav a"))) {
const key = [...link.text.toLowerCase()].find((letter) => letter > " " && !found.has(letter));
if (key) found.set(key, link);
}
return found;
}
function make(tag, ...content) {
const element = document.createElement(tag);
element.append(...content);
return element;
}
function show(dialog) {
dialog.setAttribute("closedby", "any");
dialog.addEventListener("close", () => dialog.remove());
document.body.append(dialog);
dialog.showModal();
}
const finder = (document.querySelector(".finder"));
finder?.append(make("kbd", modified));
finder?.addEventListener("click", (event) => {
if (event.ctrlKey || event.metaKey || event.shiftKey) return;
event.preventDefault();
openSearch();
});
function openSearch() {
const template = (document.querySelector("#palette"));
if (!template) return;
const dialog = (template.content.firstElementChild?.cloneNode(true));
const form = (dialog.querySelector("form"));
const input = (dialog.querySelector("input"));
const results = (dialog.querySelector("div"));
let request = new AbortController(), shown = "";
let waiting;
const find = async () => {
const text = input.value;
request.abort();
request = new AbortController();
try {
const url = \`\${form.action}?\${new URLSearchParams({ q: text })}\`;
const response = await fetch(url, { signal: request.signal });
const page = new DOMParser().parseFromString(await response.text(), "text/html");
const found = page.querySelector("#results");
for (const link of found?.querySelectorAll("a") ?? []) {
link.href = new URL(link.getAttribute("href") ?? "", response.url).href;
}
results.replaceChildren(...found?.childNodes ?? []);
showTimes(results);
shown = text;
} catch {
}
};
input.addEventListener("input", () => {
clearTimeout(waiting);
waiting = setTimeout(find, 150);
});
form.addEventListener("submit", (event) => {
const first = results.querySelector("a");
if (!first || shown !== input.value) return;
event.preventDefault();
first.click();
});
dialog.addEventListener("keydown", (event) => {
const links = [...results.querySelectorAll("a")], at = links.findIndex((link) => link === document.activeElement);
const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
if (step !== undefined) {
event.preventDefault();
(links[Math.min(at + step, links.length - 1)] ?? input).focus();
} else if (at >= 0 && (event.key.length === 1 || event.key === "Backspace")) input.focus();
});
dialog.addEventListener("close", () => request.abort());
show(dialog);
find();
}
const account = document.querySelector(".account form");
if (account) {
const button = make("button", "Keyboard shortcuts");
button.className = "plain";
button.addEventListener("click", showShortcuts);
account.before(button);
}
function showShortcuts() {
const dialog = (make("dialog", make("h2", "Keyboard shortcuts")));
dialog.setAttribute("aria-label", "Keyboard shortcuts");
const list = make("dl"), close = make("button", "Close"), isOff = storage?.getItem(off);
const rows = [["Search", "/"], ["Search", modified], ["Keyboard shortcuts", "?"]];
for (const [key, { text }] of goals()) rows.push([text, \`g \${key}\`]);
for (const [what = "", key = ""] of rows) list.append(make("dt", make("kbd", key)), make("dd", what));
list.className = "shortcuts";
close.className = "primary";
close.addEventListener("click", () => dialog.close());
const toggle = make("button", \`Turn \${isOff ? "on" : "off"} single keys\`);
toggle.addEventListener("click", () => {
if (isOff) storage?.removeItem(off);
else storage?.setItem(off, "yes");
dialog.close();
});
const actions = make("p", close, toggle);
actions.className = "actions";
dialog.append(list, actions);
show(dialog);
}
`,
  },
  "editor.css": {
    hash: "3e8608242e370162",
    text: `fieldset.message{border:1px solid var(--d);overflow:clip;scroll-margin-top:var(--s)}fieldset.message:focus-within{border-color:var(--e)}.message>.line{flex-wrap:nowrap;padding:var(--p) var(--q);border-bottom:1px solid var(--d)}.message>.line>div{flex:0 1 9rem;min-width:0}.message>.line>.actions{flex:none}.message>.line input{height:1.75rem;padding:0 var(--q);border-color:transparent;background:none;font-family:var(--w);font-size:.75rem;font-weight:600}.message>.line input:is(:hover,:focus){border-color:var(--e)}.message .actions{gap:0}.message .plain{color:var(--g);font-weight:400}.message .plain:is(:hover,:focus-visible){color:var(--h)}.message>.field>label{padding:var(--q) var(--s) 0}.message textarea,.lit>div{min-height:2.75rem;border:0;border-radius:0;padding:var(--r) var(--s);font:.8125rem / 1.6 var(--w);white-space:pre-wrap;overflow-wrap:anywhere}.message textarea:focus-visible{outline-offset:-2px}.message details{margin:0;padding:0 var(--s)}.message details .field{margin:0 calc(-1 * var(--s)) var(--q);border-top:1px solid var(--d)}.message :is(.fault,.warned),.message details .hint{padding:0 var(--s)}textarea.code{max-height:none}.lit{display:grid}.lit>*{grid-area:1 / 1;min-width:0}.lit>div{color:transparent}.lit mark{color:transparent;font-weight:inherit;padding:0;box-shadow:0 0 0 2px var(--n)}.lit:not(.long)>textarea{position:relative;background:none;overflow:hidden;resize:none}.long>textarea{max-height:70vh}.fault,.warned{margin:0;font-size:.8125rem}.fault{color:var(--k)}.warned{color:var(--m)}:is(.fault,.warned):empty{display:none}[aria-invalid="true"]{border-color:var(--k)}.publish{position:sticky;bottom:0;z-index:1;display:grid;grid-template-columns:minmax(0,1fr) auto;gap:var(--r);align-items:end;padding:var(--r) 0;background:var(--a);border-top:1px solid var(--d)}.publish textarea{min-height:2.25rem;max-height:30vh}#draft>.row{margin-bottom:calc(-1 * var(--r))}#preview>section:first-child{margin-top:0}@media (max-width: 48rem){.message .small{padding-inline:.3rem}}
@media (min-width: 62.01rem){#preview{position:sticky;top:var(--s);max-height:calc(100vh - 2 * var(--s));overflow-y:auto}}
`,
  },
  "editor.js": {
    hash: "5bae1986120c73a2",
    text: `const draft = (document.querySelector("#draft"));
const placeholder = new RegExp(draft.dataset.placeholder ?? "", "gu");
const mostLit = 50_000; // characters. A longer text takes too long to draw with each key
function lightUp(area) {
const frame = document.createElement("div"), behind = document.createElement("div");
frame.className = "lit";
behind.setAttribute("aria-hidden", "true");
area.before(frame);
frame.append(behind, area);
const draw = () => {
const text = area.value, isLong = text.length > mostLit;
frame.classList.toggle("long", isLong);
const parts = [];
let last = 0;
for (const { 0: whole, index } of isLong ? [] : text.matchAll(placeholder)) {
const mark = document.createElement("mark");
mark.textContent = whole;
parts.push(text.slice(last, index), mark);
last = index + whole.length;
}
behind.replaceChildren(...parts, isLong ? "" : \`\${text.slice(last)}\\n\`);
};
area.addEventListener("input", draw);
addEventListener("pageshow", draw);
draw();
}
for (const area of draft.querySelectorAll("textarea[name^=content-], textarea[name^=more-]")) {
lightUp(area);
}
let waiting;
let isEdited = false, newest = 0;
async function preview() {
const number = ++newest;
const body = new URLSearchParams(([...new FormData(draft)]));
body.set("do", "preview");
const response = await fetch(location.href, { method: "POST", body }).catch(() => undefined);
if (!response || number !== newest) return;
const page = new DOMParser().parseFromString(await response.text(), "text/html");
const fresh = page.querySelector("#preview"), shown = document.querySelector("#preview");
if (!fresh || !shown) return;
for (const { id, className, textContent } of page.querySelectorAll(".fault, .warned")) {
const said = document.getElementById(id);
if (said && said.textContent !== textContent) said.textContent = textContent;
if (className !== "fault") continue;
document.getElementById(id.replace("fault-", ""))?.setAttribute("aria-invalid", String(textContent !== ""));
}
const focused = document.activeElement?.id, { scrollTop } = shown;
const values = new Map();
for (const input of shown.querySelectorAll("input")) values.set(input.id, input.value);
for (const input of fresh.querySelectorAll("input")) input.value = values.get(input.id) ?? input.value;
shown.replaceWith(fresh);
fresh.scrollTop = scrollTop;
if (focused) document.getElementById(focused)?.focus();
}
document.addEventListener("input", (event) => {
if (event.target.form !== draft) return;
isEdited = true;
clearTimeout(waiting);
waiting = setTimeout(preview, 500);
});
draft.addEventListener("submit", () => isEdited = false);
addEventListener("beforeunload", (event) => {
if (isEdited) event.preventDefault();
});
`,
  },
  "feedback.css": {
    hash: "48b6534e6280487d",
    text: `.judgements{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(14rem,100%),1fr));align-items:start;gap:var(--r);margin:var(--r) 0;overflow-wrap:anywhere}.judgements form{display:grid;gap:var(--q);padding:var(--r)}.judgements :is(p,details){margin:0}.judgements legend{padding:0}#feedback summary{margin-bottom:var(--q)}.judgements form>button{justify-self:start}.judgements [aria-pressed="true"]{border-color:var(--h);background:var(--j);color:var(--h)}.comment{white-space:pre-wrap;overflow-wrap:anywhere}`,
  },
  "feedback.js": {
    hash: "1baa65c418098e87",
    text: `const keyed = (document.querySelectorAll("[aria-keyshortcuts]"));
const keysOf = (element) => (element.getAttribute("aria-keyshortcuts") ?? "").split(" ");
function isOff() {
try {
return localStorage.getItem("promptledger-keys-off") !== null;
} catch {
return false; // The person has forbidden it.
}
}
function explain() {
const list = document.querySelector(".shortcuts:not([data-all])");
list?.setAttribute("data-all", "");
for (const element of list ? keyed : []) {
const key = document.createElement("dt"), what = document.createElement("dd");
key.append(
...keysOf(element).flatMap((key) => [Object.assign(document.createElement("kbd"), { textContent: key }), " "]),
);
what.textContent = element.closest("form")?.getAttribute("aria-label") ?? element.textContent;
list?.append(key, what);
}
}
document.addEventListener("click", explain);
document.addEventListener("keydown", (event) => {
explain();
const { key, target } = event;
if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isOff()) return;
if (document.querySelector("dialog[open]")) return;
if (target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]")) return;
const found = [...keyed].find((element) => keysOf(element).includes(key));
if (!found) return;
event.preventDefault();
if (found instanceof HTMLAnchorElement) found.click();
else found.focus();
});
`,
  },
  "icon.svg": {
    hash: "25749da0428f4e27",
    text: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">
<rect x="2" y="1" width="20" height="22" rx="4.5" fill="#12705c" />
<path d="M7 7.5h10M7 12h10M7 16.5h5.5" stroke="#fff" stroke-width="1.8" stroke-linecap="round" />
</svg>
`,
  },
} as const;
