// The water level, live; and the way from one scheme to the other on the about page.

const level = document.querySelector('[data-level]');
if (level !== null) {
  const source = new EventSource('/api/level');
  source.onmessage = ({ data }) => { level.textContent = data; };
  addEventListener('pagehide', () => source.close());
}

// The ports that `make run` uses by default; with others there is no telling.
const others = { 8080: 'https://localhost:8443/about', 8443: 'http://localhost:8080/about' };
const other = document.querySelector('[data-other-scheme]');
if (other !== null && location.port in others) {
  other.href = others[location.port];
  other.closest('p').hidden = false;
}
