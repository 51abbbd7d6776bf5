package anchor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

// maxLines bounds the lines of a witness's answer.
const maxLines = 64

// pick returns the witness's line from an answer: there must be exactly one, with a valid signature over the body of
// the checkpoint. Lines of others are ignored.
func pick(by checkpoint.Witness, text, body string) (string, error) {
	if !strings.HasSuffix(text, "\n") {
		return "", errors.New("no signature lines")
	}
	lines := strings.SplitN(strings.TrimSuffix(text, "\n"), "\n", maxLines+1)
	if len(lines) > maxLines {
		return "", fmt.Errorf("more than %d lines", maxLines)
	}
	found := ""
	for _, line := range lines {
		n, err := checkpoint.Parse([]byte(body + "\n" + line + "\n"))
		if err != nil {
			return "", err
		}
		switch _, ok, err := by.Cosigned(n); {
		case err != nil:
			return "", err
		case ok && found != "":
			return "", errors.New("two lines of one key")
		case ok:
			found = line + "\n"
		}
	}
	if found == "" {
		return "", errors.New("no line of the witness's key")
	}
	return found, nil
}
