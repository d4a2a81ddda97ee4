// Proves in a browser that scripts, POST bodies and server-sent events arrive.
const answer = document.getElementById('answer');
const response = await fetchEcho();
const events = new EventSource('/events');
events.addEventListener('tick', (event) => {
  answer.textContent = `${response.said} and tick ${event.data}`;
  events.close();
});

async function fetchEcho() {
  const reply = await fetch('/echo', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ said: 'hello' }),
  });
  return reply.json();
}
