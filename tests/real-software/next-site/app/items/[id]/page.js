import { headers } from 'next/headers';

export default async function Item({ params, searchParams }) {
  const { id } = await params;
  const { q } = await searchParams;
  const agent = (await headers()).get('user-agent');
  return <p>{`item ${id}, q ${q ?? 'none'}, agent ${agent}`}</p>;
}
