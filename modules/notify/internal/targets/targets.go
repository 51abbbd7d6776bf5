package targets

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/ids"
	"github.com/writ-automation/writ/ports/notify"
	"github.com/writ-automation/writ/ports/runs"
	"github.com/writ-automation/writ/ports/secret"
	"github.com/writ-automation/writ/ports/secrets"
)

// Targets seals targets and opens them.
type Targets struct {
	store   notify.TargetStore
	sealer  secrets.Sealer
	digests secrets.Digester
	ids     ids.Generator
}

var (
	_ notify.Targets      = (*Targets)(nil)
	_ notify.TargetOpener = (*Targets)(nil)
)

// New returns the service.
func New(s notify.TargetStore, sealer secrets.Sealer, d secrets.Digester, g ids.Generator) *Targets {
	return &Targets{store: s, sealer: sealer, digests: d, ids: g}
}

// hidden is the sealed part of a target.
type hidden struct {
	URL string `json:"url,omitempty"`
	Key string `json:"key,omitempty"`
}

// digest is equal for equal targets of one kind. It separates the parts unambiguously.
func (k *Targets) digest(ctx context.Context, kind string, h hidden) (string, error) {
	var text []byte
	for _, part := range []string{kind, h.URL, h.Key} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	defer clear(text)
	sum, err := k.digests.Digest(ctx, "notification target", text)
	return hex.EncodeToString(sum), err
}

func (k *Targets) Seal(ctx context.Context, list []runs.Notification) (notify.SealedTargets, error) {
	out := notify.SealedTargets{List: slices.Clone(list)}
	for i, n := range list {
		if n.Ref != "" || n.URL == "" && n.Key == "" {
			continue
		}
		if address, key := notify.IsMask(n); address || key {
			return notify.SealedTargets{}, refuse(i, address, "is a mask, and no stored target has it")
		}
		fresh, err := k.seal(ctx, n)
		if err != nil {
			return notify.SealedTargets{}, fmt.Errorf("seal a notification target: %w", err)
		}
		fresh.At, out.List[i] = i, n.Masked()
		out.Fresh = append(out.Fresh, fresh)
	}
	// Two units that store the same targets in different orders would block each other.
	slices.SortFunc(out.Fresh, func(a, b notify.SealedTarget) int { return strings.Compare(a.Digest, b.Digest) })
	return out, nil
}

func (k *Targets) seal(ctx context.Context, n runs.Notification) (notify.SealedTarget, error) {
	h := hidden{URL: n.URL, Key: n.Key}
	digest, err := k.digest(ctx, n.Kind, h)
	if err != nil {
		return notify.SealedTarget{}, err
	}
	plain, err := json.Marshal(h)
	if err != nil {
		return notify.SealedTarget{}, err
	}
	defer clear(plain)
	out := notify.SealedTarget{Ref: k.ids.New(ids.NotifyTarget), Digest: digest}
	out.Text, err = k.sealer.Seal(ctx, notify.TargetRecord(out.Ref), plain)
	return out, err
}

func (k *Targets) Save(ctx context.Context, t notify.SealedTargets) ([]runs.Notification, error) {
	out := slices.Clone(t.List) // the unit may run again
	for _, f := range t.Fresh {
		ref, err := k.store.SaveTarget(ctx, f.Ref, f.Digest, f.Text)
		if err != nil {
			return nil, fmt.Errorf("keep a notification target: %w", err)
		}
		out[f.At].Ref = ref
	}
	return out, nil
}

// A target without a Ref contains its values itself.
func (k *Targets) Open(ctx context.Context, n runs.Notification) (notify.Target, error) {
	h, err := k.open(ctx, n)
	if err != nil {
		return notify.Target{}, err
	}
	return notify.Target{Kind: n.Kind, URL: secret.Text(h.URL), Key: secret.Text(h.Key), To: n.To}, nil
}

func (k *Targets) open(ctx context.Context, n runs.Notification) (hidden, error) {
	if n.Ref == "" {
		return hidden{URL: n.URL, Key: n.Key}, nil
	}
	sealed, err := k.store.SealedTarget(ctx, n.Ref)
	if err != nil {
		return hidden{}, err
	}
	plain, err := k.sealer.Open(ctx, notify.TargetRecord(n.Ref), sealed)
	if err != nil {
		return hidden{}, err
	}
	defer clear(plain)
	var h hidden
	if json.Unmarshal(plain, &h) != nil {
		// The decoder's error could contain the document.
		return hidden{}, fault.Wrap(fault.Internal, errors.New("decode a sealed target"),
			"a sealed notification target cannot be read")
	}
	return h, nil
}

// refuse returns the fault of a mask that represents no stored target.
func refuse(i int, address bool, why string) error {
	member := "key"
	if address {
		member = "url"
	}
	return fault.BadField(fmt.Sprintf("notifications[%d].%s", i, member), "%s", why)
}
