package anchor

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

const (
	maxOrigin = 200
	maxSigned = 16 // signature lines
	hintLen   = 4  // of the key, before a signature
)

// head is the signed part of a note.
type head struct {
	origin string
	size   int64
}

// parseHead reads a C2SP tlog-checkpoint without verifying it: three lines, an empty one and signature lines, without
// alternative spellings.
func parseHead(note string) (head, error) {
	if len(note) > maxHead {
		return head{}, fmt.Errorf("it has more than %d bytes", maxHead)
	}
	if !utf8.ValidString(note) {
		return head{}, errors.New("it is no UTF-8")
	}
	for i := range len(note) {
		if c := note[i]; c < 0x20 && c != '\n' || c == 0x7f {
			return head{}, errors.New("it holds a control character")
		}
	}
	text, signatures, ok := strings.Cut(note, "\n\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) != 3 {
		return head{}, errors.New("it has not three lines and an empty one before its signatures")
	}
	if err := checkOrigin(lines[0]); err != nil {
		return head{}, err
	}
	size, err := parseSize(lines[1])
	if err != nil {
		return head{}, err
	}
	if root, err := unbase64(lines[2]); err != nil || len(root) != 32 {
		return head{}, errors.New("its root is not the base64 of 32 bytes")
	}
	if err := checkSignatures(signatures); err != nil {
		return head{}, err
	}
	return head{origin: lines[0], size: size}, nil
}

// checkOrigin checks the name of a log: printable ASCII without a space and a plus sign, which are separators in the
// formats around it.
func checkOrigin(origin string) error {
	if origin == "" || len(origin) > maxOrigin {
		return fmt.Errorf("its origin has not 1 to %d bytes", maxOrigin)
	}
	for i := range len(origin) {
		if c := origin[i]; c <= ' ' || c >= 0x7f || c == '+' {
			return errors.New("its origin holds another character than printable ASCII without space and plus")
		}
	}
	return nil
}

func checkSignatures(text string) error {
	body, whole := strings.CutSuffix(text, "\n")
	rows := strings.Split(body, "\n")
	if !whole || len(rows) > maxSigned {
		return fmt.Errorf("it has not 1 to %d whole signature lines", maxSigned)
	}
	for _, row := range rows {
		rest, dash := strings.CutPrefix(row, "\u2014 ")
		name, sig, two := strings.Cut(rest, " ")
		if !dash || !two || !checkpoint.ValidName(name) {
			return errors.New("a line behind its text is no signature line")
		}
		if raw, err := unbase64(sig); err != nil || len(raw) <= hintLen {
			return errors.New("a signature line has no signature")
		}
	}
	return nil
}

// unbase64 decodes standard base64 with padding and refuses alternative spellings.
func unbase64(s string) ([]byte, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err == nil && base64.StdEncoding.EncodeToString(raw) != s { // the decoder ignores line breaks
		err = errors.New("it has another form than its own")
	}
	return raw, err
}
