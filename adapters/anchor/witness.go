package anchor

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
)

// The bounds of the protocol, and of integers in JSON.
const (
	maxProof = 63
	maxSize  = 1<<53 - 1
)

const sizeType = "text/x.tlog.size"

type witness struct {
	peer *peer
	key  checkpoint.Witness
}

var _ audit.Witness = (*witness)(nil)

// NewWitness returns a client of the C2SP tlog-witness at an http or https submission prefix. Its key is a note
// verifier key of type 0x04, Ed25519 with a time. An Invalid fault names witness or witness_key.
//
// Cosign returns the one line of that key and ignores other lines. An invalid line of the key, more than one, and
// every refusal is audit.AnchorFailed. The time of a cosignature is the witness's own claim.
func NewWitness(prefix, vkey string, o Options) (audit.Witness, error) {
	key, err := checkpoint.ParseWitness(vkey)
	if err != nil {
		return nil, fault.BadField("witness_key", "not a verifier key of a witness (Ed25519, type 0x04)").Because(err)
	}
	p, u, err := newPeer(prefix, "witness", o)
	if err != nil {
		return nil, err
	}
	p.address = u.JoinPath("add-checkpoint").String()
	return &witness{peer: p, key: key}, nil
}

// Name implements audit.Witness: the name in the witness's key.
func (w *witness) Name() string { return w.key.Name }

func (w *witness) Cosign(
	ctx context.Context, note string, from int64, proof [][32]byte,
) (lines string, known int64, err error) {
	body, size, err := checkpointBody(note)
	if err != nil {
		return "", 0, fault.Wrap(fault.Internal, err, "a checkpoint that cannot be presented")
	}
	if from < 0 || from > size || len(proof) > maxProof || from == 0 && len(proof) > 0 {
		return "", 0, &fault.Error{Kind: fault.Internal, Message: "a proof that cannot be presented"}
	}
	a, err := w.peer.post(ctx, "text/plain; charset=utf-8", request(note, from, proof))
	if err != nil {
		return "", 0, failed(w.who(), err)
	}
	switch a.status {
	case http.StatusOK:
		line, err := pick(w.key, string(a.body), body)
		if err != nil {
			return "", 0, audit.AnchorFailed.New("%s answered without a cosignature that verifies", w.who()).Because(err)
		}
		return line, 0, nil
	case http.StatusConflict:
		known, err := knownSize(a)
		if err != nil || known == from {
			return "", 0, audit.AnchorFailed.New("%s refused the size %d and does not say which one it knows", w.who(), from).
				Because(err)
		}
		return "", known, nil
	default:
		return "", 0, w.refused(a.status)
	}
}

func (w *witness) who() string { return "the witness " + w.key.Name }

// refused explains a status of the protocol.
func (w *witness) refused(status int) error {
	why := "answered with status " + strconv.Itoa(status)
	switch status {
	case http.StatusForbidden:
		why = "does not trust the key that signed the checkpoint"
	case http.StatusNotFound:
		why = "does not know this log"
	case http.StatusUnprocessableEntity:
		why = "found that the checkpoint does not extend the tree that it knows"
	case http.StatusBadRequest:
		why = "could not read the checkpoint"
	}
	return audit.AnchorFailed.New("%s %s", w.who(), why).With("status", status)
}

// request is the body of add-checkpoint.
func request(note string, from int64, proof [][32]byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "old %d\n", from)
	for i := range proof {
		b.WriteString(base64.StdEncoding.EncodeToString(proof[i][:]) + "\n")
	}
	b.WriteString("\n" + note)
	return b.Bytes()
}

// checkpointBody returns the signed part of a checkpoint, with its last newline, and the size in it.
func checkpointBody(note string) (body string, size int64, err error) {
	at := strings.LastIndex(note, "\n\n")
	if at < 0 || !strings.HasSuffix(note, "\n") {
		return "", 0, fmt.Errorf("no signed note")
	}
	body = note[:at+1]
	lines := strings.Split(body, "\n")
	if len(lines) < 4 {
		return "", 0, fmt.Errorf("a note of %d lines is no checkpoint", len(lines)-1)
	}
	size, err = parseSize(lines[1])
	return body, size, err
}

func knownSize(a answer) (int64, error) {
	media, _, err := mime.ParseMediaType(a.media)
	if err != nil || media != sizeType {
		return 0, fmt.Errorf("an answer of the type %q", a.media)
	}
	text, ok := strings.CutSuffix(string(a.body), "\n")
	if !ok {
		return 0, fmt.Errorf("a size without its newline")
	}
	return parseSize(text)
}

// parseSize reads a tree size: decimal, no sign, no leading zero.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > maxSize || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%.20q is no tree size", s)
	}
	return n, nil
}
