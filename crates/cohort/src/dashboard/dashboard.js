// Asks the server each second what there is to show, and shows it. A question that fails is asked again: the page finds the server
// when that comes back.
"use strict";

const ASK_EVERY_MS = 1000;
const PATIENCE_MS = 5000;

const CHARTS = [
  ["transactions", "Transactions"], ["latency", "Commit latency"],
  ["cohorts", "Cohort sizes"], ["commits_per_sync", "Commits per sync"],
  ["flushes", "Flushes"], ["syncs", "Sync times"],
  ["sessions", "Sessions by state"], ["waits", "Waits by kind"],
  ["prepared", "Prepared transactions"], ["failures", "Serialization failures"],
  ["latches", "Waits for latches"], ["undurable", "Log not durable yet"],
];

const element = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });
const number = (value) => (Math.abs(value) >= 100 ? whole : fine).format(value);
const rate = (value) => `${number(value)}/s`;

function scaled(value, steps) {
  const [size, unit] = steps.findLast(([size]) => value >= size) ?? steps[0];
  return `${number(value / size)} ${unit}`;
}
const bytes = (value) => scaled(value, [[1, "B"], [1024, "KiB"], [1024 ** 2, "MiB"], [1024 ** 3, "GiB"]]);
const span = (us) => (us === null ? "–" : scaled(us, [[1, "µs"], [1000, "ms"], [1000 ** 2, "s"]]));

function age(us) {
  const seconds = Math.floor(us / 1e6);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => seconds >= size);
  if (first < 0) return "under 1 s";
  let rest = seconds;
  const said = parts.map(([size, name]) => {
    const count = Math.floor(rest / size);
    rest -= count * size;
    return `${whole.format(count)} ${name}`;
  });
  return said.slice(first, first + 2).join(" ");
}

function make(kind, text, className) {
  const made = document.createElement(kind);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function showTiles(now, lately) {
  const sum = (list) => list.reduce((total, entry) => total + entry.a_second, 0);
  const state = (name) => now.sessions.find((entry) => entry.state === name)?.count ?? 0;
  const inTransaction = state("idle in transaction") + state("idle in transaction (aborted)");
  const blocked = now.waits.filter((wait) => wait.type !== "Client").reduce((total, wait) => total + wait.count, 0);
  const latency = lately.latency_us;
  const or = (value, say) => (value === null ? "–" : say(value));
  const tiles = [
    ["Commits", rate(lately.commits_a_second), `${rate(lately.rollbacks_a_second)} rolled back`],
    ["Commit latency, p50", span(latency.p50), `p90 ${span(latency.p90)}`],
    ["Commit latency, p99", span(latency.p99), `max ${span(latency.max)}`],
    ["Cohort size, mean", or(lately.cohort_size_mean, number), "members of a flush"],
    ["Commits per sync", or(lately.commits_per_sync, number), `${rate(lately.syncs_a_second)} syncs`],
    ["Flushes", rate(lately.flushes_a_second), `${bytes(lately.log_bytes_a_second)}/s of log`],
    ["Sync time, mean", span(lately.sync_mean_us), lately.sync_longest_us === null ? "none lately" : `none above ${span(lately.sync_longest_us)}`],
    ["Sessions working", whole.format(state("active") - Math.min(blocked, state("active"))), `${whole.format(blocked)} wait, ${whole.format(state("idle") + inTransaction)} idle`],
    ["Prepared", whole.format(now.prepared_count), now.prepared_count ? `oldest ${age(now.oldest_prepared_us)}` : "none waits to be finished"],
    ["Serialization failures", rate(sum(lately.serialization_failures)), "to be tried again"],
    ["Waits for latches", rate(sum(lately.latch_waits)), "times a thread slept"],
    ["Log not durable yet", bytes(now.undurable_bytes), `durable to ${(now.durable_lsn).toString(16).toUpperCase()}`],
  ];
  element("tiles").replaceChildren(...tiles.map(([name, value, note]) => {
    const tile = make("div");
    tile.append(make("dt", name), make("dd", value, "value"), make("dd", note, "note"));
    return tile;
  }));
}

function showCharts(charts) {
  const place = element("charts");
  for (const [id, caption] of CHARTS) {
    let drawing = element(`chart-${id}`);
    if (!drawing) {
      const figure = make("figure");
      drawing = make("div");
      drawing.id = `chart-${id}`;
      figure.append(make("figcaption", caption), drawing);
      place.append(figure);
    }
    // Drawn by our server, which escapes every text in it.
    drawing.innerHTML = charts[id] ?? "";
  }
}

function table(title, heads, rows, none) {
  const box = make("div", undefined, "table");
  box.append(make("h3", title));
  if (rows.length === 0) {
    box.append(make("p", none, "none"));
    return box;
  }
  const made = make("table");
  const head = made.createTHead().insertRow();
  heads.forEach((text) => {
    const cell = make("th", text);
    cell.scope = "col";
    head.append(cell);
  });
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((text) => { line.insertCell().textContent = text; });
  }
  box.append(made);
  return box;
}

function showTables(now, lately) {
  const named = (list) => list.map((entry) => [entry.name.replaceAll("_", " "), rate(entry.a_second)]);
  const rest = now.prepared_count - now.prepared.length;
  const prepared = now.prepared.map((entry) => [entry.gid, age(entry.age_us)]);
  if (rest > 0) prepared.push([`and ${whole.format(rest)} younger`, ""]);
  element("tables").replaceChildren(
    table("Sessions by state", ["State", "Sessions"], now.sessions.map((entry) => [entry.state, whole.format(entry.count)]), ""),
    table("What sessions wait for", ["Wait", "Sessions"],
      now.waits.map((entry) => [`${entry.type}: ${entry.event}`, whole.format(entry.count)]), "Nobody waits."),
    table("Prepared transactions", ["Identifier", "Age"], prepared, "There are none."),
    table("Serialization failures", ["Reason", "Lately"], named(lately.serialization_failures), "None in the last seconds."),
    table("Waits for latches", ["Latch", "Lately"], named(lately.latch_waits), "None in the last seconds."),
    table("In progress", ["What", "Count"], [
      ["transactions that write", whole.format(now.running)],
      ["commits on their way to the disk", whole.format(now.unretired)],
    ], ""),
  );
}

let lastSeen = null;
let isPaused = false;

function say(text, isGone) {
  document.body.classList.toggle("is-gone", isGone);
  // Only what changes is read aloud.
  if (element("state").textContent !== text) element("state").textContent = text;
}

async function ask() {
  if (isPaused || document.hidden) return;
  try {
    const answer = await fetch("/data", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    const data = await answer.json();
    lastSeen = new Date();
    element("version").textContent = data.version;
    if (data.now && data.lately) {
      element("seconds").textContent = whole.format(data.lately.seconds);
      showTiles(data.now, data.lately);
      showCharts(data.charts);
      showTables(data.now, data.lately);
    }
    say("Live, once a second.", false);
  } catch {
    const since = (lastSeen ?? pageOpened).toLocaleTimeString();
    say(`No connection since ${since}. Trying again each second.`, true);
  }
}

const pageOpened = new Date();
async function askForEver() {
  await ask();
  setTimeout(askForEver, ASK_EVERY_MS);
}
element("pause").addEventListener("click", () => {
  isPaused = !isPaused;
  element("pause").setAttribute("aria-pressed", String(isPaused));
  element("pause").textContent = isPaused ? "Go on" : "Pause";
  if (isPaused) say(`Paused at ${(lastSeen ?? pageOpened).toLocaleTimeString()}.`, false);
  else ask();
});
document.addEventListener("visibilitychange", ask);
askForEver();
