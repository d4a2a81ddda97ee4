// Rooms and who is in them. All of it lives in this process's memory: that is what a URL prefix of one's own is for.

/** Messages a room remembers for those who come later. */
const REMEMBERED = 50;
/** People in one room at most. */
const MOST_MEMBERS = 500;
/** Rooms at most; an empty room is forgotten. */
const MOST_ROOMS = 1000;
const NAME_LENGTH = 40;
const TEXT_LENGTH = 2000;
/** Bytes that a member who reads too slowly may be behind. */
const MOST_BEHIND = 1024 * 1024;

export class Rooms {
  #rooms = new Map();

  /** Lets a WebSocket into a room. Closes it with a reason if there is no place. */
  enter(name, socket) {
    let room = this.#rooms.get(name);
    if (room === undefined) {
      if (this.#rooms.size >= MOST_ROOMS) return socket.close(1013, 'too many rooms');
      room = { members: new Map(), messages: [] };
      this.#rooms.set(name, room);
    }
    if (room.members.size >= MOST_MEMBERS) return socket.close(1013, 'the room is full');
    const member = { name: 'somebody' };
    room.members.set(socket, member);
    send(socket, { type: 'welcome', messages: room.messages, people: room.members.size });
    socket.on('message', (data) => this.#receive(room, socket, member, data));
    socket.on('error', () => socket.terminate());
    socket.on('close', () => this.#leave(name, room, socket, member));
  }

  /** Names of the rooms with the number of people in them. */
  list() {
    return [...this.#rooms].map(([name, room]) => ({ name, people: room.members.size }));
  }

  /** Says goodbye to everybody. */
  close() {
    for (const room of this.#rooms.values()) for (const socket of room.members.keys()) socket.close(1001, 'the server stops');
  }

  #receive(room, socket, member, data) {
    const message = parse(data);
    if (message?.type === 'name' && typeof message.name === 'string') {
      member.name = message.name.trim().slice(0, NAME_LENGTH) || 'somebody';
      broadcast(room, { type: 'came', name: member.name, people: room.members.size });
    } else if (message?.type === 'say' && typeof message.text === 'string' && message.text.trim() !== '') {
      const said = { type: 'said', name: member.name, text: message.text.slice(0, TEXT_LENGTH), at: Date.now() };
      room.messages.push(said);
      if (room.messages.length > REMEMBERED) room.messages.shift();
      broadcast(room, said);
    } else {
      socket.close(1003, 'not understood');
    }
  }

  #leave(name, room, socket, member) {
    room.members.delete(socket);
    if (room.members.size === 0) this.#rooms.delete(name);
    else broadcast(room, { type: 'left', name: member.name, people: room.members.size });
  }
}

function parse(data) {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

function broadcast(room, message) {
  const text = JSON.stringify(message);
  for (const socket of room.members.keys()) {
    if (socket.bufferedAmount > MOST_BEHIND) socket.terminate();
    else socket.send(text);
  }
}

function send(socket, message) {
  socket.send(JSON.stringify(message));
}
