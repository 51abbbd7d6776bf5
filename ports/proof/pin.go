package proof

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/writ-automation/writ/ports/proof/keys"
)

// ErrUnknownFile means that a file is of no kind.
var ErrUnknownFile = errors.New("neither a bundle nor a receipt of version 1, and no evidence")

// The files that users most often pass by mistake.
var (
	errZip  = fmt.Errorf("a zip is %w: unzip it and follow its VERIFY.txt", ErrUnknownFile)
	errSeal = fmt.Errorf("this looks like seal.json, which is %w: pass it with --seal, and name the file to check",
		ErrUnknownFile)
)

// sniff is the number of bytes that identify the kind of a file.
const sniff = 16

// VerifyFile checks a file of any kind, like VerifyBundle. The first bytes determine the kind.
func VerifyFile(ctx context.Context, r io.Reader, t Trust, now time.Time) (Verdict, error) {
	b := bufio.NewReaderSize(r, 256<<10)
	begin, err := b.Peek(sniff)
	if err != nil && !errors.Is(err, io.EOF) {
		return Verdict{}, fmt.Errorf("read: %w", err)
	}
	switch Kind(begin) {
	case KindBundle:
		return VerifyBundle(ctx, b, t, now)
	case KindReceipt:
		return VerifyReceipt(ctx, b, t, now)
	case KindEvidence:
		return VerifyEvidence(ctx, b, t, now)
	}
	switch text := string(begin); {
	case strings.HasPrefix(text, "PK\x03\x04"):
		return Verdict{}, errZip
	case strings.HasPrefix(text, `{"checkpoint":"`):
		return Verdict{}, errSeal
	}
	return Verdict{}, ErrUnknownFile
}

// Pin returns a known_logs file updated with the log of a verdict: the keys, and the head if it is newer. The verdict
// has to come from the same text; the rest of the text is unchanged. A verdict that is not OK changes nothing. A head
// replaces an older one only if the verdict proves that the chain extends it: otherwise the file could have another
// history.
func Pin(text []byte, v Verdict) ([]byte, error) {
	pins, err := parsePins(text)
	if err != nil {
		return nil, err
	}
	if !v.OK || v.Origin == "" {
		return text, nil
	}
	head, moved := keys.Pin{Origin: v.Origin, Size: v.Size, Root: v.Root}, true
	if had := newest(pins, v.Origin); had != nil && (!continues(v) || v.Size <= had.Size) {
		head, moved = *had, false
	}
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if n, err := headOf(noteIn(line)); moved && v.Note != "" && err == nil && n.Origin == v.Origin {
			continue // its head is replaced
		}
		if p, ok := pinOf(line); ok && p.Origin == v.Origin {
			seen[p.KeyID] = true
			if moved && slices.Contains(v.SignedBy, p.KeyID) {
				p.Size, p.Root = head.Size, head.Root
				if line, err = p.Line(); err != nil {
					return nil, err
				}
			}
		}
		lines = append(lines, line)
	}
	if moved && v.Note != "" {
		lines = append(lines, noteMark+base64.StdEncoding.EncodeToString([]byte(v.Note))+"\n")
	}
	for _, id := range v.SignedBy {
		if seen[id] {
			continue
		}
		seen[id] = true
		made, err := keys.Pin{Origin: v.Origin, KeyID: id, Size: head.Size, Root: head.Root}.Line()
		if err != nil {
			return nil, err
		}
		lines = append(lines, made)
	}
	out := []byte(strings.Join(lines, ""))
	_, err = parsePins(out)
	return out, err
}

// continues reports whether a verdict proves that the chain extends the pinned head.
func continues(v Verdict) bool {
	return slices.ContainsFunc(v.Checks, func(c Check) bool { return c.ID == StepKnown.ID() && c.Result == Passed })
}

// pinOf parses a line of a valid file; ok is false for a comment.
func pinOf(line string) (keys.Pin, bool) {
	pins, err := keys.ParseKnown([]byte(line))
	if err != nil || len(pins) == 0 {
		return keys.Pin{}, false
	}
	return pins[0], true
}
