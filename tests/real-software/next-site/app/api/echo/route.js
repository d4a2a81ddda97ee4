export async function GET(request) {
  return Response.json({ url: new URL(request.url).search }, { headers: { 'set-cookie': 'a=1' } });
}

export async function POST(request) {
  const body = await request.text();
  return new Response(body.toUpperCase(), { status: 201 });
}
