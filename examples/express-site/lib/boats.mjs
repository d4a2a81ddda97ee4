// The club's boats.

export const boats = [
  {
    slug: 'merganser', name: 'Merganser', kind: 'Rowing skiff', crew: 2, length: 5.2, colour: '#c8553d', sail: 0,
    summary: 'Light, quick and forgiving. The one to learn on.',
    text: 'Built by members in the winter of 2011 from larch and oak. She is kept at the lower jetty and is the first boat that '
      + 'new members take out.',
  },
  {
    slug: 'avocet', name: 'Avocet', kind: 'Sailing dinghy', crew: 3, length: 4.3, colour: '#28666e', sail: 1,
    summary: 'A lively dinghy for an afternoon with some wind in it.',
    text: 'Lug sail, centreboard, and room for a picnic. Reef early: she tells you when she has had enough, but not twice.',
  },
  {
    slug: 'spoonbill', name: 'Spoonbill', kind: 'Gaff cutter', crew: 6, length: 7.9, colour: '#2f3e46', sail: 2,
    summary: 'The club\'s cutter, for the estuary and a night on board.',
    text: 'Two berths forward, a stove, and a chart table that doubles as everything else. Skippers need the coastal certificate.',
  },
  {
    slug: 'teal', name: 'Teal', kind: 'Canoe', crew: 2, length: 4.8, colour: '#52796f', sail: 0,
    summary: 'For the creeks, at a pace at which herons stay put.',
    text: 'Cedar strip, very quiet. At high water she gets as far as the old mill.',
  },
  {
    slug: 'turnstone', name: 'Turnstone', kind: 'Sailing dinghy', crew: 2, length: 3.9, colour: '#b08968', sail: 1,
    summary: 'Small, simple, hard to break.',
    text: 'Our juniors race her on Thursdays. She has been capsized more often than all other boats together.',
  },
  {
    slug: 'gannet', name: 'Gannet', kind: 'Safety launch', crew: 4, length: 5.6, colour: '#bc4749', sail: 0,
    summary: 'The launch that fetches everybody else.',
    text: 'Electric since 2023, charged from the roof of the boathouse. Out whenever juniors are.',
  },
];

export function boatBySlug(slug) {
  return boats.find((boat) => boat.slug === slug);
}
