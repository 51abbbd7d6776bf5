package prove

import (
	"context"
	"fmt"
	"time"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/proof/bundle"
	"github.com/writ-automation/writ/ports/proof/dsse"
	"github.com/writ-automation/writ/ports/proof/keys"
	"github.com/writ-automation/writ/ports/proof/receipt"
)

// Seal shows the newest stored head, so its bytes stay the same while nothing changes. Before the first stored head it
// shows the present head with the time of its newest entry.
func (p *Prover) Seal(ctx context.Context) ([]byte, error) {
	_, signer, err := p.p.Install.Signers(ctx)
	if err != nil {
		return nil, err
	}
	id, err := p.p.Install.Identity(ctx)
	if err != nil {
		return nil, err
	}
	note, at, err := p.newest(ctx, id.Epoch.N)
	if err != nil {
		return nil, err
	}
	s := keys.Seal{
		Service: p.p.Settings.Service, InstallID: id.InstallID, Origin: id.Epoch.Origin, Epoch: id.Epoch.N, Keys: id.Keys,
		Checkpoint: note,
		Formats:    []string{bundle.MediaType, receipt.MediaType, "application/zip"},
		VerifyPage: p.p.Settings.VerifyPage, UpdatedAt: at, TSA: p.p.Settings.Outsiders.TSAs(), Policy: p.policy(id.Keys),
	}
	for _, e := range id.Epochs {
		s.Epochs = append(s.Epochs, keys.Epoch{N: e.N, FirstSeq: e.FirstSeq, Closed: e.Closed, LastSize: e.LastSize,
			LastRoot: e.LastRoot, Reason: e.Reason})
	}
	sealed, err := dsse.SignSeal(s, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the seal: %w", err)
	}
	return sealed, nil
}

// policy returns the policy text for verifying cosigned heads, empty if no witness is configured.
func (p *Prover) policy(list []keys.Key) string {
	var logs []string
	for _, k := range list {
		if k.Use == keys.Checkpoint && k.Status == keys.Active {
			logs = append(logs, k.VKey)
		}
	}
	return p.p.Settings.Outsiders.Policy(logs...)
}

// newest returns the newest note of the epoch and its time.
func (p *Prover) newest(ctx context.Context, epoch int64) (note string, at time.Time, err error) {
	kept, err := p.p.Anchors.NewestAnchors(ctx, audit.KindCheckpoint, perKind)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("read the newest head: %w", err)
	}
	for _, a := range kept {
		if a.Epoch == epoch {
			return a.Note, a.MadeAt, nil
		}
	}
	head, err := p.p.Install.Checkpoint(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	err = p.p.Reader.Range(ctx, head.Size, head.Size, false, func(e *audit.Stored) error {
		at, err = time.Parse(keys.Stamp, e.At)
		return err
	})
	return head.Note, at, err
}
