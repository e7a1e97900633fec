/**
 * The terminal makes style elements and writes style attributes, which the page's policy refuses. Scripts may set the same styles in other
 * ways: until the returned function is called, new elements of the page do so.
 */
export function applyStylesByScript(): () => void {
  const create = document.createElement.bind(document);
  document.createElement = (tag: string, options?: ElementCreationOptions) => {
    if (tag === 'style') return styleElement(create('span'));
    const element = create(tag, options);
    return tag === 'span' ? Object.defineProperty(element, 'setAttribute', { value: setAttribute }) : element;
  };
  // What stays is the method of the prototype.
  return () => Reflect.deleteProperty(document, 'createElement');
}

/** Colours of 24 bits are written as attributes. */
function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** Makes the text of an element a style sheet of the page. */
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
