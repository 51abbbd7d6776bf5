package projects

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// code writes numbered lines. It is no template, since those add blanks between elements, which code must not have.
func code(from int, lines [][]span) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for i, line := range lines {
			n := from + i
			if _, err := fmt.Fprintf(w,
				`<span class="ln" id="L%d"><a class="no" href="#L%d" tabindex="-1" aria-label="Line %d">%d</a>`,
				n, n, n, n); err != nil {
				return err //nolint:wrapcheck // the writer is a buffer
			}
			if err := spans(w, line); err != nil {
				return err
			}
			if _, err := io.WriteString(w, "\n</span>"); err != nil {
				return err //nolint:wrapcheck // the writer is a buffer
			}
		}
		return nil
	})
}

func spans(w io.Writer, line []span) error {
	for _, s := range line {
		text := templ.EscapeString(s.Text)
		if s.Class != "" {
			text = `<span class="` + s.Class + `">` + text + "</span>"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err //nolint:wrapcheck // the writer is a buffer
		}
	}
	return nil
}
