package shell

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// Sprite has the drawings of glyphs once, for pages with many rows. Use shows them.
func Sprite(names ...string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, `<svg class="vh" aria-hidden="true">`)
		for _, name := range names {
			if err == nil {
				_, err = fmt.Fprintf(w, `<symbol id="g-%s" viewBox="0 0 16 16">%s</symbol>`, name, glyphs(name))
			}
		}
		if err == nil {
			_, err = io.WriteString(w, `</svg>`)
		}
		return err //nolint:wrapcheck // the writer is a buffer
	})
}

// Use draws a glyph of the page's Sprite.
func Use(name string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, `<svg class="ico" aria-hidden="true"><use href="#g-%s"/></svg>`, name)
		return err //nolint:wrapcheck // the writer is a buffer
	})
}
