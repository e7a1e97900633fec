import { isRecord } from '../files/json-values.js';
import { parsePackage } from '../files/package-manifest.js';

/** The packages by which build-info recognises frameworks. A test compares this list with build-info's own. */
export const PACKAGES: ReadonlySet<string> = new Set(
  `@11ty/eleventy @analogjs/platform @angular/cli @builder.io/qwik @docusaurus/core @mastra/deployer-netlify @netlify/remix-adapter
  @netlify/remix-edge-adapter @netlify/remix-runtime @observablehq/framework @phenomic/core @quasar/app @react-router/dev
  @redwoodjs/core @remix-run/dev @remix-run/netlify @remix-run/netlify-edge @remix-run/react @remix-run/server-runtime
  @shopify/hydrogen @solidjs/start @stencil/core @sveltejs/kit @tanstack/react-router @tanstack/react-start @tanstack/solid-start
  @tanstack/start @vue/cli-service assemble astro blitz brunch docpad docusaurus ember-cli expo gatsby gridsome grunt gulp harp
  hexo hono metalsmith next nuxt nuxt-edge nuxt3 parcel parcel-bundler quasar-cli react-scripts react-static remix roots sapper
  solid-js solid-start svelte vike vite vite-plus vitepress vuepress waku wintersmith wmr`.split(/\s+/),
);

/** Returns false if build-info, whose loading takes a fifth of a second, would find no framework. */
export function mayUseFramework(packageJson: string): boolean {
  const value = parsePackage(packageJson);
  const groups = [value.dependencies, value.devDependencies].filter(isRecord);
  return groups.some((group) => Object.keys(group).some((name) => PACKAGES.has(name)));
}
