package estate

import (
	"context"
	"fmt"
	"io"

	"github.com/a-h/templ"
)

// numbered writes lines with their numbers. It is no template, since those add blanks between elements.
func numbered(lines []string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		for i, line := range lines {
			n := i + 1
			if _, err := fmt.Fprintf(w,
				`<span class="ln" id="L%d"><a class="no" href="#L%d" tabindex="-1" aria-label="Line %d">%d</a>`+
					"%s\n</span>", n, n, n, n, templ.EscapeString(line)); err != nil {
				return err //nolint:wrapcheck // the writer is a buffer
			}
		}
		return nil
	})
}
