import Counter from './counter.js';

export default function Page() {
  return <main><h1>Built at build time</h1><Counter /></main>;
}
