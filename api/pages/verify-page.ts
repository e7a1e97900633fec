import Router from '@koa/router';
import type { ApiState } from '../http/request-state.js';
import { policyOf, servePage } from './serve-page.js';

/** The token is in the link's fragment, which servers neither get nor log. */
export const VERIFY_PATH = '/api/verify';

const POLICY = policyOf("script-src 'self'", "connect-src 'self'");

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Verify your e-mail address</title>
  </head>
  <body>
    <h1>Verify your e-mail address</h1>
    <p id="answer">If it was you who asked for this, press the button.</p>
    <button id="verify">Verify</button>
    <script src="${VERIFY_PATH}/page.js"></script>
  </body>
</html>
`;

/** Verifies the address only when the user presses the button, because mail scanners open links by themselves. */
const SCRIPT = `const answer = document.getElementById('answer');
const button = document.getElementById('verify');
button.onclick = async () => {
  button.disabled = true;
  try {
    const { csrfToken } = await (await fetch('/api/bootstrap')).json();
    const response = await fetch('/api/session/verification/confirm', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-CSRFToken': csrfToken },
      body: JSON.stringify({ token: location.hash.slice(1) }),
    });
    const { error } = await response.json();
    answer.textContent = error ? 'The link is wrong, was used or has expired; ask for another one.' : 'The address is verified.';
  } catch {
    answer.textContent = 'The server could not be reached; try again.';
    button.disabled = false;
  }
};
`;

/** Serves the page on which a user verifies an e-mail address. The token of the link is the only credential. */
export function verifyRouter(): Router<ApiState> {
  const router = new Router<ApiState>();
  servePage(router, VERIFY_PATH, { html: PAGE, script: SCRIPT, policy: POLICY });
  return router;
}
