// What is live on a page. Every page works without this: it keeps cells up to date, follows a log, and shows times in the reader's own zone.
const every = 10000, slowest = 60000;
const status = document.getElementById("status");
const main = document.getElementById("main");

const sameDay = (a, b) => a.toDateString() === b.toDateString();

function localTimes(root) {
	for (const t of root.querySelectorAll("time[datetime]")) {
		const at = new Date(t.dateTime), pad = (n) => String(n).padStart(2, "0");
		const clock = pad(at.getHours()) + ":" + pad(at.getMinutes());
		const day = at.getFullYear() + "-" + pad(at.getMonth() + 1) + "-" + pad(at.getDate());
		t.textContent = sameDay(at, new Date()) ? clock : day + " " + clock;
		t.title = at.toString();
	}
}

// say shows one line above the page, which screen readers read out; with a button if there is something to do.
function say(text, button, act) {
	if (status.dataset.said === text) return;
	status.dataset.said = text;
	status.replaceChildren(document.createTextNode(text));
	if (button) {
		const b = document.createElement("button");
		b.textContent = button;
		b.addEventListener("click", act);
		status.append(b);
	}
	if (!text) status.replaceChildren();
}

function asOf() {
	const shown = document.getElementById("asof");
	if (shown) shown.textContent = "as of " + new Date().toLocaleTimeString([], { hour12: false });
}

// apply changes cells in place. Rows never move under the hand: new ones are counted, and wait for a click.
function apply(live) {
	for (const cell of document.querySelectorAll("[data-live]")) {
		const now = live.cells[cell.dataset.live];
		if (!now || cell.textContent === now[0] && cell.className.replace(" changed", "") === now[1]) continue;
		cell.textContent = now[0];
		cell.className = now[1];
		void cell.offsetWidth;
		cell.classList.add("changed");
	}
	const shown = new Set();
	for (const row of document.querySelectorAll("[data-row]")) {
		shown.add(row.dataset.row);
		row.classList.toggle("gone", !live.rows.includes(row.dataset.row));
	}
	const fresh = live.rows.filter((row) => !shown.has(row)).length;
	if (fresh > 0) say(fresh + " newer", "Show", () => location.reload());
	else say("");
	asOf();
}

let tag = "", wait = every, timer = 0, away = false;

async function ask() {
	clearTimeout(timer);
	if (document.hidden) return;
	try {
		const answer = await fetch(main.dataset.refresh, { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store", redirect: "manual" });
		if (answer.status === 401 || answer.type === "opaqueredirect") {
			say("Your session has ended.", "Sign in", () => location.assign("/login?to=" + encodeURIComponent(location.pathname + location.search)));
			return;
		}
		if (answer.status >= 500) throw new Error(answer.status);
		if (away) say("");
		away = false;
		wait = every;
		if (answer.status === 200) {
			tag = answer.headers.get("ETag") || "";
			apply(await answer.json());
		} else asOf();
	} catch {
		away = true;
		wait = 3000;
		say("The daemon does not answer. What you see is old; this page asks again.");
	}
	timer = setTimeout(ask, Math.min(wait, slowest));
}

// follow shows what a job has written, and goes on as it writes more. Each look is a short request: an open page holds no connection.
async function follow(log) {
	let offset = 0;
	const most = 200000;
	for (;;) {
		if (!document.hidden) {
			try {
				const answer = await fetch(log.dataset.log + "?offset=" + offset, { cache: "no-store" });
				if (answer.ok) {
					const text = await answer.text(), word = answer.headers.get("Fsub-Word");
					const below = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
					if (text) log.textContent = (log.textContent + text).slice(-most);
					if (below) log.scrollTop = log.scrollHeight;
					offset = Number(answer.headers.get("Fsub-Next"));
					if (word === "done" || word === "file") return;
					if (word === "more") continue;
				} else if (answer.status < 500) return;
			} catch { /* the page says that the daemon is away */ }
		}
		await new Promise((next) => setTimeout(next, 2000));
	}
}

localTimes(document);
if (main && main.dataset.refresh) {
	asOf();
	timer = setTimeout(ask, every);
	document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
}
const log = document.getElementById("log");
if (log) follow(log);
