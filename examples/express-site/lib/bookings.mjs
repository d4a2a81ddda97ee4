// Bookings, kept in memory: they are gone when the program stops.

import { randomInt } from 'node:crypto';
import { boatBySlug } from './boats.mjs';

const DAYS_AHEAD = 14;
/** The site is an example: what is kept of it is bounded. */
const MOST_BOOKINGS = 1000;

const all = [];

export function bookings() {
  return all;
}

/** The days that can be booked, as ISO dates, from tomorrow on. */
export function openDays(now) {
  return Array.from({ length: DAYS_AHEAD }, (_, index) => {
    const day = new Date(now);
    day.setUTCDate(day.getUTCDate() + index + 1);
    return day.toISOString().slice(0, 10);
  });
}

/** A booking from what a form or a JSON body says, or what is wrong with it, by field. */
export function validate(input) {
  const text = (name, longest) => String(input[name] ?? '').trim().slice(0, longest);
  const booking = { boat: text('boat', 40), day: text('day', 10), name: text('name', 80), crew: Number(input.crew), note: text('note', 500) };
  const errors = {};
  const boat = boatBySlug(booking.boat);
  if (boat === undefined) errors.boat = 'Choose one of our boats.';
  if (!openDays(new Date()).includes(booking.day)) errors.day = 'Choose a day in the next two weeks.';
  if (booking.name.length < 2) errors.name = 'Tell us your name.';
  if (!Number.isInteger(booking.crew) || booking.crew < 1) errors.crew = 'At least one of you has to be on board.';
  else if (boat !== undefined && booking.crew > boat.crew) errors.crew = `${boat.name} takes ${boat.crew} at most.`;
  if (errors.boat === undefined && errors.day === undefined && all.some((other) => other.boat === booking.boat && other.day === booking.day)) {
    errors.day = `${boat.name} is taken on that day.`;
  }
  return Object.keys(errors).length === 0 ? { errors, booking } : { errors };
}

export function book(booking) {
  const kept = { number: `TW-${randomInt(0x10000, 0xfffff).toString(16).toUpperCase()}`, ...booking };
  all.push(kept);
  if (all.length > MOST_BOOKINGS) all.shift();
  return kept;
}
