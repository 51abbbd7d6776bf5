package heads

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/writ-automation/writ/modules/audit/internal/install"
	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/checkpoint"
	"github.com/writ-automation/writ/ports/proof/timestamp"
)

// The third parties are called outside of the unit of work, and each answer is checked before it is stored. If one
// fails, the anchors of the others are still stored and returned together with the fault.
func (k *Admin) Anchor(ctx context.Context, by audit.AnchorRequest) ([]audit.Anchor, error) {
	head, err := k.p.Install.Checkpoint(ctx)
	if err != nil {
		return nil, err
	}
	made := []audit.Anchor{k.p.Install.Anchor(head, audit.KindCheckpoint)}
	var failed error
	add := func(a audit.Anchor, err error) {
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		made = append(made, a)
	}
	if by.HeadFile != nil {
		add(k.toFile(head, by.HeadFile))
	}
	if by.TimeStamper != nil {
		add(k.stamped(ctx, head, by.TimeStamper))
	}
	if by.Witness != nil {
		add(k.witnessed(ctx, head, by.Witness))
	}
	if err := k.p.Unit.Do(ctx, func(ctx context.Context) error { return k.put(ctx, made) }); err != nil {
		return nil, fmt.Errorf("store anchors: %w", err)
	}
	return made, failed
}

func (k *Admin) put(ctx context.Context, made []audit.Anchor) error {
	reported := make([]map[string]any, 0, len(made))
	for _, a := range made {
		if err := k.s.Anchors.PutAnchor(ctx, a); err != nil {
			return err
		}
		reported = append(reported, map[string]any{"id": a.ID, "kind": a.Kind, "size": a.Size, "source": a.Source})
	}
	return k.p.Recorder.Record(ctx, audit.Entry{
		Action: audit.AuditAnchor, Object: audit.Object{Kind: "anchor", ID: made[0].ID},
		Detail: map[string]any{"anchors": reported},
	})
}

func (k *Admin) toFile(head install.Head, file audit.HeadFile) (audit.Anchor, error) {
	if err := file.Save(head.Note); err != nil {
		return audit.Anchor{}, refused(err, "the head file could not be written")
	}
	if note, err := file.Load(); err != nil || note != head.Note {
		return audit.Anchor{}, refused(err, "the head file does not have the written contents")
	}
	a := k.p.Install.Anchor(head, audit.KindHeadFile)
	a.Source = "file"
	return a, nil
}

// stamped requests a token from a time-stamping authority. The anchor has the time of the token.
func (k *Admin) stamped(ctx context.Context, head install.Head, by audit.TimeStamper) (audit.Anchor, error) {
	response, err := by.Stamp(ctx, []byte(head.Note))
	if err != nil {
		return audit.Anchor{}, refused(err, "the time-stamping authority returned no token")
	}
	token, err := timestamp.Parse(response)
	switch {
	case err != nil:
	case len(response) > timestamp.MaxSize:
		err = fmt.Errorf("it has more than %d bytes", timestamp.MaxSize)
	case !token.Covers([]byte(head.Note)):
		err = errors.New("it covers another text")
	}
	if err != nil {
		return audit.Anchor{}, refused(err, "the answer of the time-stamping authority is not a token of the head")
	}
	a := k.p.Install.Anchor(head, audit.KindTimestamp)
	a.Evidence, a.Source, a.MadeAt = response, by.Name(), token.Time.Truncate(time.Microsecond)
	return a, nil
}

// witnessed requests a cosignature from a witness. If the witness reports another size than this install has stored,
// the request is repeated from that size.
func (k *Admin) witnessed(ctx context.Context, head install.Head, by audit.Witness) (audit.Anchor, error) {
	from, err := k.lastWitnessed(ctx, head, by.Name())
	if err != nil {
		return audit.Anchor{}, err
	}
	lines, known, err := k.cosign(ctx, head, by, from)
	if err == nil && lines == "" && known != from {
		if known > head.Size {
			return audit.Anchor{}, audit.Unsatisfied.New("the witness has signed a head of %d entries, and this one has %d",
				known, head.Size)
		}
		lines, _, err = k.cosign(ctx, head, by, known)
	}
	if err != nil {
		return audit.Anchor{}, refused(err, "the witness did not sign")
	}
	if err := checkCosigned(head.Note, lines); err != nil {
		return audit.Anchor{}, refused(err, "the answer of the witness is not a cosignature")
	}
	a := k.p.Install.Anchor(head, audit.KindWitness)
	a.Note, a.Source = head.Note+lines, by.Name()
	return a, nil
}

func (k *Admin) cosign(ctx context.Context, head install.Head, by audit.Witness, from int64) (string, int64, error) {
	if from < 0 {
		return "", 0, fault.Wrap(fault.Internal, nil, "a witness cannot have a tree of %d entries", from)
	}
	proof, err := k.p.Tree.Consistency(ctx, from, head.Size)
	if err != nil {
		return "", 0, err
	}
	return by.Cosign(ctx, head.Note, from, proof)
}

// cosignatures bounds how many cosignatures of a witness are searched for the newest one.
const cosignatures = 64

// lastWitnessed returns the size of the head that a witness signed last in this epoch, or 0.
func (k *Admin) lastWitnessed(ctx context.Context, head install.Head, name string) (int64, error) {
	kept, err := k.s.Anchors.NewestAnchors(ctx, audit.KindWitness, cosignatures)
	if err != nil {
		return 0, fmt.Errorf("read anchors: %w", err)
	}
	for _, a := range kept {
		if a.Source == name && a.Epoch == head.Epoch && a.Size <= head.Size {
			return a.Size, nil
		}
	}
	return 0, nil
}

// The lengths of the data after the key hash in a cosignature: a time of eight bytes and a signature of Ed25519 or
// ML-DSA-44.
const (
	timeLen    = 8
	ed25519Len = 64
	mldsa44Len = 2420
)

// checkCosigned checks that the lines are cosignatures and that a note with them is valid.
func checkCosigned(note, lines string) error {
	if lines == "" || !strings.HasSuffix(lines, "\n") {
		return errors.New("there is no complete line")
	}
	before, err := checkpoint.Parse([]byte(note))
	if err != nil {
		return err
	}
	after, err := checkpoint.Parse([]byte(note + lines))
	if err != nil {
		return err
	}
	for _, l := range after.Lines[len(before.Lines):] {
		n := len(l.Sig) - timeLen
		if l.Name == before.Origin || n != ed25519Len && n != mldsa44Len || binary.BigEndian.Uint64(l.Sig) == 0 {
			return fmt.Errorf("the line of %q is not a cosignature", l.Name)
		}
	}
	return nil
}

// refused returns the fault of a failed anchor. A fault of the chain itself is returned unchanged.
func refused(err error, what string) error {
	if audit.Unsatisfied.Is(err) || audit.Broken.Is(err) {
		return err
	}
	return audit.AnchorFailed.New("%s", what).Because(err)
}
