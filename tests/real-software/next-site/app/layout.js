export const metadata = { title: 'A Next page', icons: 'data:,' };

export default function Layout({ children }) {
  return <html lang="en"><body>{children}</body></html>;
}
