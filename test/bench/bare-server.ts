import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import pg from 'pg';

/** The reference of `npm run bench -- api`: Koa and pg with one query for each request. Prints its port. */
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 20 });
const app = new Koa();
app.use(async (ctx) => {
  const id = ctx.path.slice(1);
  if (ctx.method === 'GET') {
    const { rows } = await pool.query('select * from services where id = $1', [id]);
    ctx.body = { service: rows[0] };
    return;
  }
  const { rows } = await pool.query('update services set updated_at = now() where id = $1 returning *', [id]);
  ctx.body = { service: rows[0] };
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
