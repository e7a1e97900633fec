/**
 * Lets xterm.js work under the Content-Security-Policy, which refuses its style elements and style attributes. Until
 * the returned function is called, `document.createElement` returns elements that set the styles by script.
 */
export function applyStylesByScript(): () => void {
  users += 1;
  const leave = () => {
    users -= 1;
    // Deletes the replacement, a property of `document` itself. The original method, in its prototype, then applies.
    if (users === 0) Reflect.deleteProperty(document, 'createElement');
  };
  if (users > 1) return leave;
  const create = document.createElement.bind(document);
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    if (tag === 'style') return styleElement(create('span'));
    const element = create(tag, options);
    return tag === 'span' ? Object.defineProperty(element, 'setAttribute', { value: setAttribute }) : element;
  };
  return leave;
}

/** How many terminals the page has. */
let users = 0;

/** Sets a style attribute by script. xterm.js writes 24-bit colours as style attributes. */
function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** Makes the element act like a <style> element: a text that is set on it becomes a style sheet of the page. */
function styleElement(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  element.hidden = true;
  const remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  return Object.defineProperties(element, {
    textContent: { set: (text: string) => sheet.replaceSync(text) },
    remove: { value: remove },
  });
}
