"use strict";
// Draws a view (sinks/live/view_json.py) that comes as server-sent events, or that stands in the page itself. Text goes into the document as text
// only. A whole state replaces what is known; a step adds an interval to it.

const KEPT = 600, PAST = 120, SHOWN_LINES = 50, HEAT_ROW = 14;
const COLOURS = ["#3b6fb6", "#d1792c", "#3f9a56", "#c14b50", "#8b63b0", "#8a6552", "#cf7fb8", "#777777"];
const HEAT = [[33, 60, 140], [38, 130, 190], [90, 190, 140], [240, 220, 90], [240, 150, 50], [200, 40, 40]];

const panels = new Map();  // name -> Panel
let paused = false, over = false, state = null, printed = [];
let back = 0;  // how many intervals behind the latest the window ends that is shown

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
const windowed = past => past.slice(Math.max(0, past.length - back - PAST), Math.max(0, past.length - back));
const span = () => Math.min(PAST, Math.max(60, state.intervals)); // of all pictures, so that what is above each other is of one time
const clock = seconds => new Date(seconds * 1000).toTimeString().slice(0, 8);

// ---- what is known -----------------------------------------------------------------------------

function take(plain) {
    if (plain.what === "whole") { panels.forEach(panel => panel.forget()); printed = []; }
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

class Panel {
    constructor(name) {
        this.name = name; this.lines = new Map(); this.sort = "number"; this.chosen = null;
        this.box = element("section"); this.title = element("h2");
        this.heat = element("div", undefined, "heat"); this.labels = element("div", undefined, "labels");
        this.map = element("canvas"); this.cell = element("div", undefined, "cell");
        this.heat.append(this.labels, this.map);
        this.chart = element("canvas", undefined, "lines");
        this.table = element("table");
        this.box.append(this.title, this.heat, this.cell, this.chart, this.table);
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
        const lines = this.sorted();
        this.title.textContent = `@${visible(this.name)} = ${this.plain.function}`;
        if (this.plain.keys > 1) this.title.append(" ", element("small", `${this.plain.keys} keys`));
        const distribution = Boolean(this.plain.buckets);
        this.heat.hidden = this.cell.hidden = !distribution;
        this.heat.style.display = distribution ? "" : "none";
        this.chart.style.display = distribution ? "none" : "";
        if (distribution) this.draw_heat(lines); else this.draw_chart(lines.slice(0, COLOURS.length));
        this.draw_table(lines.slice(0, SHOWN_LINES), distribution);
    }

    draw_heat(lines) {
        const buckets = Object.keys(this.plain.buckets).map(Number).sort((a, b) => b - a);
        const columns = Math.max(1, ...lines.map(line => windowed(line.columns || []).length));
        const counts = buckets.map(() => new Array(columns).fill(0));
        const row = new Map(buckets.map((bucket, at) => [bucket, at]));
        for (const line of lines) {
            const shown = windowed(line.columns || []), skip = columns - shown.length;
            shown.forEach((column, at) => {
                for (let i = 0; i < column.length; i += 2) counts[row.get(column[i])][skip + at] += column[i + 1];
            });
        }
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
        return x >= 0 && x < columns && buckets[y] !== undefined ? {bucket: buckets[y], interval: state.intervals - back - (columns - 1 - x)} : null;
    }

    tell(cell, keys) {
        const drawn = this.drawn;
        const x = cell && drawn ? drawn.columns - 1 - (state.intervals - back - cell.interval) : -1, y = cell && drawn ? drawn.buckets.indexOf(cell.bucket) : -1;
        if (x < 0 || y < 0) { this.cell.textContent = ""; return; }
        const when = clock(state.now - (back + drawn.columns - 1 - x) * state.interval);
        let text = `${when}  ${this.plain.buckets[cell.bucket]}: ${drawn.counts[y][x]} values`;
        if (keys) for (const line of drawn.lines) {
            const shown = windowed(line.columns || []), column = shown[x - (drawn.columns - shown.length)] || [];
            for (let i = 0; i < column.length; i += 2) if (column[i] === cell.bucket) text += `\n${name_of(line.key)}: ${column[i + 1]}`;
        }
        this.cell.textContent = text;
    }

    draw_chart(lines) {
        const [context, width, height] = fitted(this.chart), most = Math.max(1, ...lines.flatMap(line => windowed(line.past)));
        lines.forEach((line, at) => plot(context, windowed(line.past), width, height, most, COLOURS[at]));
        context.fillStyle = getComputedStyle(this.chart).color;
        context.fillText(`${most} in ${+state.interval.toPrecision(3)} s`, 4, 12);
    }

    draw_table(lines, distribution) {
        const heads = [["key", "key"], [distribution ? "values" : this.plain.function, "number"]];
        for (const name of this.plain.percents || []) heads.push([name.replace("<=", "≤"), null]);
        heads.push(["/s", "rate"]);
        const head = element("tr");
        for (const [text, sort] of heads) {
            const cell = element("th", text + (sort === this.sort ? " ▾" : ""));
            if (sort) cell.addEventListener("click", () => { this.sort = sort; draw(); });
            head.append(cell);
        }
        head.append(element("th"));
        const rows = lines.map((line, at) => {
            const row = element("tr"), bars = element("canvas"), past = element("td");
            row.append(element("td", name_of(line.key)), element("td", line.value));
            for (const value of line.percentiles || []) row.append(element("td", value));
            row.append(element("td", line.rate.toFixed(line.rate < 10 ? 1 : 0)));
            past.append(bars); row.append(past);
            row.bars = () => { const [c, w, h] = fitted(bars); plot(c, windowed(line.past), w, h, Math.max(1, ...windowed(line.past)), distribution ? "#3b6fb6" : COLOURS[at] || "#888"); };
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

function plot(context, past, width, height, most, colour) {
    context.strokeStyle = colour; context.lineWidth = 1.5; context.beginPath();
    past.forEach((count, at) => {
        const x = width - (past.length - at - 0.5) * width / span(), y = height - 1 - Math.max(0, count) / most * (height - 3);
        if (at) context.lineTo(x, y); else context.moveTo(x, y);
    });
    context.stroke();
}

function draw_time() {
    const longest = Math.max(0, ...[...panels.values()].flatMap(panel => [...panel.lines.values()].map(line => line.past.length)));
    const most = Math.max(0, longest - PAST), scroll = document.getElementById("scroll");
    document.getElementById("time").hidden = !most;
    back = Math.min(back, most);
    scroll.max = most; scroll.value = most - back;
    const end = state.now - back * state.interval;
    document.getElementById("span").textContent = `${clock(end - Math.min(longest, PAST) * state.interval)} to ${clock(end)}`;
}

function draw() {
    if (!state) return;
    draw_time();
    const lost = Object.values(state.drops).reduce((a, b) => a + b, 0);
    document.getElementById("drops").textContent = lost ? `${lost} drops` : "";
    document.getElementById("status").textContent = `${over ? "over" : paused ? "paused" : state.recorded ? "recording" : "live"}, ${clock(state.now)}`;
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
window.addEventListener("resize", draw);
const kept = document.getElementById("state");
if (kept && kept.textContent) {
    over = true; document.getElementById("pause").hidden = true;
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
