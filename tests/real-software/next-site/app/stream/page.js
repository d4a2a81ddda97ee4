import { Suspense } from 'react';
import { connection } from 'next/server';

async function Late() {
  await connection();
  await new Promise((resolve) => setTimeout(resolve, 400));
  return <p>the late part</p>;
}

export default function Stream() {
  return <main><p>the early part</p><Suspense fallback={<p>loading</p>}><Late /></Suspense></main>;
}
