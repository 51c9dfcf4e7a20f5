"use strict";
// Draws a view (sinks/live/view_json.py) that comes as server-sent events, or that stands in the page itself. Text goes into the document as text
// only. A whole state replaces what is known; a step adds an interval to it. A finished state has the whole run.

const KEPT = 600, PAST = 120, SHOWN_LINES = 50, HEAT_ROW = 14, NARROW = 640, COLUMN_WIDTH = 3, TICK_WIDTH = 90;
const COLOURS = ["#3b6fb6", "#d1792c", "#3f9a56", "#c14b50", "#8b63b0", "#8a6552", "#cf7fb8", "#777777"];
const HEAT = [[33, 60, 140], [38, 130, 190], [90, 190, 140], [240, 220, 90], [240, 150, 50], [200, 40, 40]];
const TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];
const NARROW_PERCENTS = new Set(["p50", "p99"]);  // that a narrow page has room for

const panels = new Map();  // name -> Panel
let paused = false, over = false, state = null, facts = null, printed = [];
let back = 0;  // how many intervals behind the latest the window ends that is shown
let closer = false;  // of a finished run: PAST intervals of it are shown, not all

const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
};
const visible = text => text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    c => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));
const name_of = key => key.map(visible).join("  ");
const wanted = line => name_of(line.key).toLowerCase().includes(document.getElementById("filter").value.toLowerCase());
const has_all = () => Boolean(state.finished) && !closer;  // the whole run is shown
const clock = (seconds, digits = 0) =>  // the time of day where the tracing was
    new Date((seconds + (facts ? facts.utc_offset : -60 * new Date().getTimezoneOffset())) * 1000).toISOString().slice(11, 19 + (digits && digits + 1));

function short(number) {
    for (const [scale, suffix] of [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
        if (number >= Math.max(scale, 1e4) * 0.9995) return `${+(number / scale).toPrecision(3)}${suffix}`;
    return `${+number.toPrecision(number < 1000 ? 3 : 4)}`;
}

const TIMES = {s: 1e9, ms: 1e6, us: 1e3, ns: 1};  // in ns

function quantity(number, unit) {  // as readable_values.py
    for (const [name, factor] of Object.entries(unit in TIMES ? TIMES : {}))
        if (number * TIMES[unit] >= factor * 0.9995) return `${short(number * TIMES[unit] / factor)} ${name}`;
    return `${short(number)} ${unit}`.trim();
}

// ---- the window that is shown ------------------------------------------------------------------

// intervals that are one column, so that the whole run fits into the page
const grouped = () => has_all() ? Math.max(1, Math.ceil(state.intervals * COLUMN_WIDTH / Math.max(60, document.getElementById("panels").clientWidth))) : 1;
const windowed = past => has_all() ? past : past.slice(Math.max(0, past.length - back - PAST), Math.max(0, past.length - back));
// columns of all pictures, so that what is above each other is of one time
const span = () => has_all() ? Math.ceil(state.intervals / grouped()) : Math.min(PAST, Math.max(state.finished ? 1 : 60, state.intervals));
const column_seconds = () => state.interval * grouped();
const window_end = () => state.now + (has_all() ? span() * grouped() - state.intervals : -back) * state.interval;

function columns_of(past, join, none) {  // what is shown of a past, the latest last
    const shown = windowed(past), size = grouped();
    if (size === 1) return shown;
    const missing = state.intervals - shown.length, made = [];
    for (let at = 0; at < shown.length; at++) {
        const column = Math.floor((missing + at) / size) - Math.floor(missing / size);
        made[column] = join(column < made.length ? made[column] : none, shown[at]);
    }
    return made;
}
const counts_of = line => columns_of(line.past, (one, other) => one + other, 0);
function rates_of(line) {  // what came in a second
    const counts = counts_of(line);
    if (!state.finished) return counts.map(count => count / state.interval);
    const seconds = columns_of(state.seconds, (one, other) => one + other, 0);
    return counts.map((count, at) => count / (seconds[seconds.length - counts.length + at] || 1));
}
const buckets_of = line => columns_of(line.columns || [], (one, other) => one.concat(other), []);

// ---- what is known -----------------------------------------------------------------------------

function take(plain) {
    if (plain.what === "whole") { panels.forEach(panel => panel.forget()); printed = []; facts = plain.facts || facts; show_facts(); }
    if (plain.finished) { over = true; back = 0; document.getElementById("about").open = true; }
    state = plain;
    const there = new Set();
    for (const each of plain.panels) {
        if (!panels.has(each.name)) panels.set(each.name, new Panel(each.name));
        panels.get(each.name).take(each);
        there.add(each.name);
    }
    for (const [name, panel] of panels) if (!there.has(name)) { panel.box.remove(); panels.delete(name); }
    printed = printed.concat(plain.log).slice(-200);
    if (back && plain.what === "step") back++;  // what is looked at stays where it is
    if (!paused) draw();
}

function show_facts() {
    if (!facts) return;
    document.querySelector("h1").textContent = document.title = visible(facts.title);
    document.getElementById("facts").replaceChildren(...facts.rows.flatMap(([what, text]) =>
        [element("dt", what), element("dd", visible(text), what === "lost" && text !== "nothing" ? "lost" : "")]));
    document.getElementById("about").hidden = false;
    document.getElementById("script").hidden = !facts.script;
    document.querySelector("#script pre").textContent = facts.script.split("\n").map(visible).join("\n");
}

class Panel {
    constructor(name) {
        this.name = name; this.lines = new Map(); this.sort = "number"; this.chosen = null;
        this.box = element("section"); this.title = element("h2");
        this.heat = element("div", undefined, "picture heat"); this.labels = element("div", undefined, "labels");
        this.map = element("canvas"); this.cell = element("div", undefined, "cell");
        this.plot = element("div", undefined, "picture"); this.scale = element("div", undefined, "labels");
        this.chart = element("canvas", undefined, "lines");
        this.axes = [element("div", undefined, "axis"), element("div", undefined, "axis")];
        this.heat.append(this.labels, this.map, this.axes[0]);
        this.plot.append(this.scale, this.chart, this.axes[1]);
        this.grid = element("div", undefined, "table"); this.table = element("table"); this.more = element("div", undefined, "more");
        this.grid.append(this.table, this.more);
        this.box.append(this.title, this.heat, this.cell, this.plot, this.grid);
        document.getElementById("panels").append(this.box);
        this.map.addEventListener("mousemove", event => this.tell(this.at(event), false));
        this.map.addEventListener("mouseleave", () => this.tell(this.chosen, true));
        this.map.addEventListener("click", event => { this.chosen = this.at(event); this.tell(this.chosen, true); });
    }

    forget() { this.lines.clear(); }

    take(plain) {
        const known = this.lines;
        this.lines = new Map();
        for (const line of plain.lines) {
            const id = JSON.stringify(line.key), before = known.get(id);
            if (before) {
                line.past = before.past.concat(line.past).slice(-KEPT);
                if (line.columns && before.columns) line.columns = before.columns.concat(line.columns).slice(-KEPT);
            }
            this.lines.set(id, line);
        }
        this.plain = plain;
    }

    sorted() {
        const chosen = [...this.lines.values()].filter(wanted);
        const by = this.sort === "key" ? (a, b) => name_of(a.key) < name_of(b.key) ? -1 : 1 : (a, b) => b[this.sort] - a[this.sort];
        return chosen.sort(by);
    }

    // ---- drawing ----

    draw() {
        const lines = this.sorted(), plain = this.plain;
        const words = [plain.expression, plain.keys > 1 ? `${plain.keys} keys` : "", `${plain.total} in all`];
        this.title.replaceChildren(visible(plain.title), " ", element("small", words.filter(Boolean).map(visible).join(" · ")));
        const distribution = Boolean(plain.buckets);
        this.heat.style.display = this.cell.style.display = distribution ? "" : "none";
        this.plot.style.display = distribution ? "none" : "";
        if (distribution) this.draw_heat(lines); else this.draw_chart(lines.slice(0, COLOURS.length));
        draw_axis(this.axes[distribution ? 0 : 1]);
        this.draw_table(lines.slice(0, SHOWN_LINES), distribution);
        const left = plain.keys - Math.min(lines.length, SHOWN_LINES);
        this.more.textContent = left > 0 ? `${left} more key${left > 1 ? "s" : ""}` : "";
    }

    draw_heat(lines) {
        const buckets = Object.keys(this.plain.buckets).map(Number).sort((a, b) => b - a), all = lines.map(buckets_of);
        const columns = Math.max(1, ...all.map(shown => shown.length));
        const counts = buckets.map(() => new Array(columns).fill(0));
        const row = new Map(buckets.map((bucket, at) => [bucket, at]));
        for (const shown of all) shown.forEach((column, at) => {
            for (let i = 0; i < column.length; i += 2) counts[row.get(column[i])][columns - shown.length + at] += column[i + 1];
        });
        const most = Math.max(1, ...counts.flat());
        const width = Math.max(columns, span());
        this.map.width = width; this.map.height = Math.max(1, buckets.length);
        this.map.style.height = `${Math.max(1, buckets.length) * HEAT_ROW}px`;
        const context = this.map.getContext("2d"), image = context.createImageData(width, Math.max(1, buckets.length));
        counts.forEach((each, y) => each.forEach((count, x) => {
            if (count <= 0) return;
            const [r, g, b] = heat(Math.log1p(count) / Math.log1p(most)), at = 4 * (y * width + x + width - columns);
            image.data.set([r, g, b, 255], at);
        }));
        context.putImageData(image, 0, 0);
        this.labels.replaceChildren(...buckets.map(bucket => element("span", this.plain.buckets[bucket])));
        this.drawn = {buckets, columns, counts, width, lines};
        this.tell(this.chosen, true);
    }

    at(event) {
        const box = this.map.getBoundingClientRect(), {buckets, columns, width} = this.drawn;
        const x = Math.floor((event.clientX - box.left) / box.width * width) - (width - columns);
        const y = Math.floor((event.clientY - box.top) / box.height * buckets.length);
        return x >= 0 && x < columns && buckets[y] !== undefined ? {bucket: buckets[y], interval: state.intervals - back - (columns - 1 - x) * grouped()} : null;
    }

    tell(cell, keys) {
        const drawn = this.drawn;
        const x = cell && drawn ? drawn.columns - 1 - Math.round((state.intervals - back - cell.interval) / grouped()) : -1, y = cell && drawn ? drawn.buckets.indexOf(cell.bucket) : -1;
        if (x < 0 || y < 0) { this.cell.textContent = ""; return; }
        const when = clock(window_end() - (drawn.columns - 1 - x) * column_seconds());
        let text = `${when}  ${this.plain.buckets[cell.bucket]}: ${drawn.counts[y][x]} values`;
        if (keys) for (const line of drawn.lines) {
            const shown = buckets_of(line), column = shown[x - (drawn.columns - shown.length)] || [];
            let count = 0;
            for (let i = 0; i < column.length; i += 2) if (column[i] === cell.bucket) count += column[i + 1];
            if (count) text += `\n${name_of(line.key)}: ${count}`;
        }
        this.cell.textContent = text;
    }

    draw_chart(lines) {
        const all = lines.map(rates_of), most = Math.max(...all.flat(), 0) || 1;
        const [context, width, height] = fitted(this.chart);
        all.forEach((shown, at) => plot(context, shown, width, height, most, COLOURS[at]));
        this.scale.replaceChildren(element("span", `${quantity(most, this.plain.unit)}/s`), element("span", "0"));
    }

    draw_table(lines, distribution) {
        const narrow = window.innerWidth < NARROW, heads = [[this.plain.heading || "key", "key"], [distribution ? "values" : this.plain.function, "number"]];
        const percents = (this.plain.percents || []).map((name, at) => [name, at]).filter(([name]) => !narrow || NARROW_PERCENTS.has(name.split(" ")[0]));
        for (const [name] of percents) heads.push([name.replace("<=", "≤"), null]);
        heads.push(["/s", "rate"]);
        this.grid.style.setProperty("--numbers", heads.length - 1);
        const head = element("tr");
        for (const [text, sort] of heads) {
            const cell = element("th", visible(text) + (sort === this.sort ? " ▾" : ""));
            if (sort) cell.addEventListener("click", () => { this.sort = sort; draw(); });
            head.append(cell);
        }
        head.append(element("th"));
        const rows = lines.map((line, at) => {
            const row = element("tr"), bars = element("canvas"), past = element("td");
            row.append(element("td", name_of(line.key)), element("td", line.value));
            for (const [, index] of percents) row.append(element("td", line.percentiles[index]));
            row.append(element("td", line.per_second));
            past.append(bars); row.append(past);
            row.bars = () => { const [c, w, h] = fitted(bars), shown = rates_of(line); plot(c, shown, w, h, Math.max(...shown, 0) || 1, distribution ? "#3b6fb6" : COLOURS[at] || "#888"); };
            return row;
        });
        this.table.replaceChildren(head, ...rows);
        rows.forEach(row => row.bars());
    }
}

function heat(share) {
    const at = Math.min(0.999, Math.max(0, share)) * (HEAT.length - 1), low = Math.floor(at), part = at - low;
    return HEAT[low].map((from, i) => Math.round(from + (HEAT[low + 1][i] - from) * part));
}

function fitted(canvas) {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 160, height = canvas.clientHeight || 16;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return [context, width, height];
}

function plot(context, past, width, height, most, colour) {  // one step a column
    const step = width / span(), first = width - past.length * step;
    context.strokeStyle = colour; context.lineWidth = 1.5; context.beginPath();
    past.forEach((count, at) => {
        const y = height - 1 - Math.max(0, count) / most * (height - 3);
        context.lineTo(first + at * step, y); context.lineTo(first + (at + 1) * step, y);
    });
    context.stroke();
}

function draw_axis(axis) {
    const seconds = span() * column_seconds(), end = window_end(), begin = end - seconds;
    const room = Math.max(1, Math.floor((axis.clientWidth || 600) / TICK_WIDTH));
    const step = TICKS.find(each => seconds / each <= room) || 86400 * Math.ceil(seconds / 86400 / room);
    const digits = step < 0.1 ? 2 : step < 1 ? 1 : 0, marks = [];
    const offset = facts ? facts.utc_offset : 0;
    for (let at = Math.ceil((begin + offset) / step) * step - offset; at < end; at += step) {
        const mark = element("span", clock(at + 1e-6, digits)), left = 100 * (at - begin) / seconds;
        mark.style.left = `${left}%`;
        if ((1 - left / 100) * (axis.clientWidth || 600) > (digits ? 76 : 60)) marks.push(mark);  // else its text would be cut
    }
    axis.replaceChildren(...marks);
}

function draw_time() {
    const longest = Math.max(0, ...[...panels.values()].flatMap(panel => [...panel.lines.values()].map(line => line.past.length)));
    const most = Math.max(0, longest - PAST), scroll = document.getElementById("scroll"), zoom = document.getElementById("zoom");
    document.getElementById("time").hidden = !most;
    zoom.hidden = !state.finished; zoom.textContent = closer ? "whole run" : "closer";
    scroll.parentElement.hidden = has_all();
    back = Math.min(back, most);
    scroll.max = most; scroll.value = most - back;
    const end = window_end();
    document.getElementById("span").textContent = has_all() ? "" : `${clock(end - Math.min(longest, PAST) * state.interval)} to ${clock(end)}`;
}

function draw() {
    if (!state) return;
    draw_time();
    const lost = Object.values(state.drops).reduce((a, b) => a + b, 0);
    document.getElementById("drops").textContent = lost ? `${lost} drops` : "";
    document.getElementById("status").textContent = `${over ? "over" : paused ? "paused" : "live"}, ${clock(state.now)}`;
    document.getElementById("pause").hidden = over;
    panels.forEach(panel => panel.draw());
    document.getElementById("printed").hidden = !printed.length;
    document.getElementById("log").textContent = printed.map(visible).join("\n");
}

// ---- where it comes from -------------------------------------------------------------------------

document.getElementById("filter").addEventListener("input", draw);
document.getElementById("pause").addEventListener("click", event => {
    paused = !paused; event.target.textContent = paused ? "go on" : "pause"; draw();
});
document.getElementById("scroll").addEventListener("input", event => { back = event.target.max - event.target.value; draw(); });
document.getElementById("zoom").addEventListener("click", () => { closer = !closer; back = 0; draw(); });
window.addEventListener("resize", draw);
window.addEventListener("beforeprint", () => { document.getElementById("script").open = true; draw(); });
const kept = document.getElementById("state");
if (kept && kept.textContent) {
    over = true;
    take(JSON.parse(kept.textContent));
} else if (kept) {  // in a notebook, which tells of each interval
    window.addEventListener("message", event => {
        if (event.source !== window.parent) return;
        const plain = JSON.parse(event.data);
        over = plain.ended; take(plain); document.documentElement.dataset.intervals = state.intervals;
    });
} else {
    const source = new EventSource("events");
    source.onmessage = event => { take(JSON.parse(event.data)); document.documentElement.dataset.intervals = state.intervals; };
    source.addEventListener("end", () => { over = true; source.close(); draw(); });
    source.onerror = () => { if (!over) document.getElementById("status").textContent = "not connected: trying again"; };
}
