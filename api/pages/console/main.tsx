import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import './base.css';
import { SessionProvider } from './api/session.js';
import { queryClient } from './api/use-api.js';
import { StartFailed, StartSkeleton } from './pages/start.js';
import { router } from './router.js';
import { applyTheme } from './ui/theme.js';

applyTheme();

// After an upgrade, a page of the older version requests files that no longer exist.
window.addEventListener('vite:preloadError', (event) => {
  event.preventDefault();
  location.reload();
});

const root = document.getElementById('root');
if (!root) throw new Error('the page has no #root');
createRoot(root).render(
  <CSPProvider disableStyleElements>
    <QueryClientProvider client={queryClient}>
      <SessionProvider
        loading={<StartSkeleton />}
        failed={(error, retry) => <StartFailed error={error} retry={retry} />}
      >
        <RouterProvider router={router} />
      </SessionProvider>
    </QueryClientProvider>
  </CSPProvider>,
);
