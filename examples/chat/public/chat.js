// The page of a room. What people say is put in as text, never as HTML.
'use strict';

const element = (id) => document.getElementById(id);
const [messages, state, form, nameField, textField] = ['messages', 'state', 'form', 'name', 'text'].map(element);

element('room').textContent = location.pathname;
document.title = `${location.pathname} · Chat`;
nameField.value = sessionStorage.getItem('name') ?? `guest-${Math.floor(Math.random() * 1000)}`;

let socket;
let pauseMs = 250;

function connect() {
  socket = new WebSocket(location.href.replace(/^http/, 'ws'));
  socket.onopen = () => {
    pauseMs = 250;
    tellName();
  };
  socket.onmessage = ({ data }) => receive(JSON.parse(data));
  socket.onclose = () => {
    state.textContent = 'disconnected, trying again';
    setTimeout(connect, pauseMs);
    pauseMs = Math.min(pauseMs * 2, 5000);
  };
}

function receive(message) {
  if (message.people !== undefined) state.textContent = message.people === 1 ? 'alone here' : `${message.people} people`;
  if (message.type === 'welcome') {
    messages.replaceChildren();
    for (const said of message.messages) show(said);
  } else if (message.type === 'said') {
    show(message);
  } else if (message.type === 'came') {
    note(`${message.name} is here`);
  } else if (message.type === 'left') {
    note(`${message.name} has left`);
  }
}

function show({ name, text }) {
  const line = document.createElement('li');
  const who = document.createElement('b');
  who.textContent = `${name}: `;
  line.append(who, text);
  add(line);
}

function note(text) {
  const line = document.createElement('li');
  line.className = 'note';
  line.textContent = text;
  add(line);
}

function add(line) {
  messages.append(line);
  line.scrollIntoView({ block: 'end' });
}

function tellName() {
  sessionStorage.setItem('name', nameField.value);
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'name', name: nameField.value }));
}

nameField.addEventListener('change', tellName);
form.addEventListener('submit', (event) => {
  event.preventDefault();
  if (socket.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify({ type: 'say', text: textField.value }));
  textField.value = '';
  textField.focus();
});

connect();
