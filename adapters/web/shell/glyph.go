package shell

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// glyphs returns the drawings of the glyphs, in a box of 16 by 16. Each state has a silhouette of its own.
func glyphs(name string) string {
	switch name {
	case "done":
		return `<circle cx="8" cy="8" r="7" fill="currentColor"/><path d="M4.8 8.3l2.2 2.2 4.2-4.6" fill="none" ` +
			`stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"/>`
	case "chg":
		return `<path d="M8 .8l7.2 7.2L8 15.2.8 8z" fill="currentColor"/><path d="M5 8.6c1-1.5 2-1.5 3-.6s2 .9 ` +
			`3-.6" fill="none" stroke="var(--surface)" stroke-width="1.5" stroke-linecap="round"/>`
	case "fail":
		return `<path d="M4.9.9h6.2l4 4v6.2l-4 4H4.9l-4-4V4.9z" fill="currentColor"/><path d="M5.4 5.4l5.2 ` +
			`5.2m0-5.2l-5.2 5.2" stroke="var(--surface)" stroke-width="1.7" stroke-linecap="round"/>`
	case "lost":
		return `<path d="M1.2 8a6.8 6.8 0 0 1 11.6-4.8M14.8 8A6.8 6.8 0 0 1 3.2 12.8" fill="none" ` +
			`stroke="currentColor" stroke-width="1.7" stroke-linecap="round"/><path d="M8 4.6v4.2" ` +
			`stroke="currentColor" stroke-width="1.9" stroke-linecap="round"/><circle cx="8" cy="11.3" ` +
			`r="1.1" fill="currentColor"/>`
	case "now":
		return `<circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-opacity=".28" ` +
			`stroke-width="2"/><path class="spin" d="M8 1.6A6.4 6.4 0 0 1 14.4 8" fill="none" ` +
			`stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`
	case "hold":
		return `<rect x="1" y="1" width="14" height="14" rx="4" fill="currentColor"/><path d="M6 5v6M10 5v6" ` +
			`stroke="var(--surface)" stroke-width="1.9" stroke-linecap="round"/>`
	case "wait":
		return `<circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-width="1.6"/><path d="M8 ` +
			`4.6V8l2.3 1.6" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`
	case "skip":
		return `<circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-width="1.5" ` +
			`stroke-dasharray="2.4 2.2"/><path d="M5.4 8h5.2" stroke="currentColor" stroke-width="1.6" ` +
			`stroke-linecap="round"/>`
	case "stop":
		return `<circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-width="1.6"/><path ` +
			`d="M3.6 12.4l8.8-8.8" stroke="currentColor" stroke-width="1.6"/>`
	case "deny":
		return `<circle cx="8" cy="8" r="7" fill="currentColor"/><path d="M4.6 8h6.8" stroke="var(--surface)" ` +
			`stroke-width="2" stroke-linecap="round"/>`
	case "seal":
		return `<path d="M8 .9l1.7 1.3 2.1-.1.6 2 1.8 1.2-.8 2 .8 2-1.8 1.1-.6 2-2.1-.1L8 ` +
			`13.6l-1.7-1.3-2.1.1-.6-2-1.8-1.1.8-2-.8-2 1.8-1.2.6-2 2.1.1z" fill="none" stroke="currentColor" ` +
			`stroke-width="1.3" stroke-linejoin="round"/><path d="M5.5 7.4l1.8 1.8 3.2-3.5" fill="none" ` +
			`stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>`
	}
	return symbols(name)
}

// symbols returns the drawings that stand for no state.
func symbols(name string) string {
	switch name {
	case "find":
		return `<circle cx="7" cy="7" r="4.6" fill="none" stroke="currentColor" stroke-width="1.5"/><path ` +
			`d="M10.5 10.5L14 14" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`
	case "moon":
		return `<path d="M13.4 9.7A6 6 0 0 1 6.3 2.6a6 6 0 1 0 7.1 7.1z" fill="none" stroke="currentColor" ` +
			`stroke-width="1.4" stroke-linejoin="round"/>`
	case "home":
		return `<path d="M2.5 7.5L8 2.8l5.5 4.7v5.7H10V9.6H6v3.6H2.5z" fill="none" stroke="currentColor" ` +
			`stroke-width="1.4" stroke-linejoin="round"/>`
	case "list":
		return `<path d="M5.8 4h8M5.8 8h8M5.8 12h8M2.4 4h.4M2.4 8h.4M2.4 12h.4" stroke="currentColor" ` +
			`stroke-width="1.6" stroke-linecap="round"/>`
	case "play":
		return `<path d="M4.5 2.8l8 5.2-8 5.2z" fill="none" stroke="currentColor" stroke-width="1.4" ` +
			`stroke-linejoin="round"/>`
	case "fleet":
		return `<rect x="2" y="2.5" width="12" height="4.4" rx="1" fill="none" stroke="currentColor" ` +
			`stroke-width="1.4"/><rect x="2" y="9.1" width="12" height="4.4" rx="1" fill="none" ` +
			`stroke="currentColor" stroke-width="1.4"/><path d="M4.6 4.7h.1M4.6 11.3h.1" ` +
			`stroke="currentColor" stroke-width="1.8" stroke-linecap="round"/>`
	case "up":
		return `<path d="M3.5 10L8 5.5l4.5 4.5" fill="none" stroke="currentColor" stroke-width="1.6" ` +
			`stroke-linecap="round" stroke-linejoin="round"/>`
	case "down":
		return `<path d="M3.5 6L8 10.5 12.5 6" fill="none" stroke="currentColor" stroke-width="1.6" ` +
			`stroke-linecap="round" stroke-linejoin="round"/>`
	case "left":
		return `<path d="M10 3.5L5.5 8l4.5 4.5" fill="none" stroke="currentColor" stroke-width="1.6" ` +
			`stroke-linecap="round" stroke-linejoin="round"/>`
	case "close":
		return `<path d="M4 4l8 8m0-8l-8 8" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>`
	case "more":
		return `<path d="M3.5 8h.1M8 8h.1M12.5 8h.1" stroke="currentColor" stroke-width="2.4" ` +
			`stroke-linecap="round"/>`
	case "risk":
		return `<path d="M8 1.6l6.9 12.2H1.1z" fill="currentColor" stroke="currentColor" stroke-width="1.2" ` +
			`stroke-linejoin="round"/><path d="M8 6v3.6" stroke="var(--surface)" stroke-width="1.7" ` +
			`stroke-linecap="round"/><circle cx="8" cy="11.9" r=".95" fill="var(--surface)"/>`
	case "drift":
		return `<path d="M1.5 6c2.2-2.6 4.3-2.6 6.5 0s4.3 2.6 6.5 0M1.5 11c2.2-2.6 4.3-2.6 6.5 0s4.3 2.6 6.5 0" ` +
			`fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>`
	case "queue":
		return `<path d="M2.5 3.5h11M2.5 8h11M2.5 12.5h5" stroke="currentColor" stroke-width="1.7" ` +
			`stroke-linecap="round"/>`
	case "clock":
		return `<circle cx="8" cy="8" r="6.2" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M8 ` +
			`4.6V8l2.3 1.4" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round"/>`
	case "help":
		return `<circle cx="8" cy="8" r="6.4" fill="none" stroke="currentColor" stroke-width="1.4"/><path d="M6.2 6.3a1.8 ` +
			`1.8 0 1 1 2.6 1.6c-.6.3-.8.7-.8 1.3" fill="none" stroke="currentColor" stroke-width="1.4" ` +
			`stroke-linecap="round"/><circle cx="8" cy="11.4" r=".9" fill="currentColor"/>`
	case "plus":
		return `<path d="M8 3v10M3 8h10" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>`
	case "right":
		return `<path d="M6 3.5L10.5 8 6 12.5" fill="none" stroke="currentColor" stroke-width="1.6" ` +
			`stroke-linecap="round" stroke-linejoin="round"/>`
	case "copy":
		return `<rect x="5" y="5" width="8.5" height="8.5" rx="1.5" fill="none" stroke="currentColor" stroke-width="1.4"/>` +
			`<path d="M3 10.5V4a1.5 1.5 0 0 1 1.5-1.5H11" fill="none" stroke="currentColor" stroke-width="1.4"/>`
	case "mark":
		return `<path d="M1.7 5l3 6.7L7.5 6l2.6 5.7L14.5 2.7" fill="none" stroke="currentColor" stroke-width="1.8" ` +
			`stroke-linecap="round" stroke-linejoin="round"/>`
	}
	return ""
}

// The hues of the glyphs whose hue is not their name.
func hues(name string) string {
	switch name {
	case "risk":
		return "hold"
	case "clock", "wait", "skip", "stop", "queue":
		return "idle"
	case "deny":
		return "fail"
	case "drift":
		return "chg"
	case "seal":
		return "done"
	}
	return name
}

// Hue returns the class with the colours of a glyph: done, chg, fail, lost, now, hold or idle.
func Hue(glyph string) string { return hues(glyph) }

// Glyph draws a glyph. It is hidden from assistive tools, since a word always comes with it.
func Glyph(name string) templ.Component { return glyphIn(name, "ico") }

// GlyphIn draws a glyph with a further class.
func GlyphIn(name, class string) templ.Component { return glyphIn(name, "ico "+class) }

func glyphIn(name, class string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, `<svg class="%s" viewBox="0 0 16 16" aria-hidden="true">%s</svg>`,
			templ.EscapeString(class), glyphs(name))
		return err //nolint:wrapcheck // the writer is a buffer
	})
}

// icon returns the icon of the tab as an address of its content: the silhouette of the state.
func icon(glyph string) string {
	if glyph == "" {
		glyph = "mark"
	}
	return "/ui/icon/" + glyph + ".svg"
}
