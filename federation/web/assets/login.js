// The ticket stands in the fragment of the address, which no server and no log sees. It is sent by a click, never by opening the page.
function take() {
	const ticket = decodeURIComponent(location.hash.slice(1));
	const cut = ticket.lastIndexOf(".");
	if (cut <= 0) return;
	history.replaceState(null, "", location.pathname + location.search);
	const ask = document.getElementById("ask");
	const who = ticket.slice(0, cut);
	ask.textContent = "Sign in as " + who + " at " + ask.dataset.host + "?";
	ask.hidden = false;
	document.getElementById("ticket").value = ticket;
	document.getElementById("paste").hidden = true;
	const go = document.getElementById("go");
	go.textContent = "Sign in as " + who;
	go.focus();
}

take();
window.addEventListener("hashchange", take); // an address that is pasted where this page is open
