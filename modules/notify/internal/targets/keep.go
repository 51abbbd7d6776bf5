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

// Keeper keeps targets.
type Keeper struct {
	store   notify.TargetStore
	sealer  secrets.Sealer
	digests secrets.Digester
	ids     ids.Generator
}

var (
	_ notify.Targets = (*Keeper)(nil)
	_ notify.Opener  = (*Keeper)(nil)
)

// New makes a keeper.
func New(s notify.TargetStore, sealer secrets.Sealer, d secrets.Digester, g ids.Generator) *Keeper {
	return &Keeper{store: s, sealer: sealer, digests: d, ids: g}
}

// hidden is what is sealed of a target.
type hidden struct {
	URL string `json:"url,omitempty"`
	Key string `json:"key,omitempty"`
}

// digest is the same for equal targets of one kind. It keeps the parts apart.
func (k *Keeper) digest(ctx context.Context, kind string, h hidden) (string, error) {
	var text []byte
	for _, part := range []string{kind, h.URL, h.Key} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	defer clear(text)
	sum, err := k.digests.Digest(ctx, "notification target", text)
	return hex.EncodeToString(sum), err
}

// Keep implements notify.Targets.
func (k *Keeper) Keep(ctx context.Context, list []runs.Notification) ([]runs.Notification, error) {
	out := slices.Clone(list)
	var fresh []int
	digests := make([]string, len(list))
	for i, n := range list {
		if n.Ref != "" || n.URL == "" && n.Key == "" {
			continue
		}
		if address, key := notify.IsMask(n); address || key {
			return nil, refuse(i, address, "is a mask, and nothing stored has it")
		}
		var err error
		if digests[i], err = k.digest(ctx, n.Kind, hidden{URL: n.URL, Key: n.Key}); err != nil {
			return nil, fmt.Errorf("keep a notification target: %w", err)
		}
		fresh = append(fresh, i)
	}
	// Two units that keep the same targets in different orders would wait for one another.
	slices.SortFunc(fresh, func(a, b int) int { return strings.Compare(digests[a], digests[b]) })
	for _, i := range fresh {
		ref, err := k.seal(ctx, list[i], digests[i])
		if err != nil {
			return nil, fmt.Errorf("keep a notification target: %w", err)
		}
		out[i] = list[i].Masked()
		out[i].Ref = ref
	}
	return out, nil
}

func (k *Keeper) seal(ctx context.Context, n runs.Notification, digest string) (string, error) {
	plain, err := json.Marshal(hidden{URL: n.URL, Key: n.Key})
	if err != nil {
		return "", err
	}
	defer clear(plain)
	ref := k.ids.New(ids.NotifyTarget)
	sealed, err := k.sealer.Seal(ctx, notify.TargetRecord(ref), plain)
	if err != nil {
		return "", err
	}
	return k.store.KeepTarget(ctx, ref, digest, sealed)
}

// Open implements notify.Opener. A target without a Ref holds what it says.
func (k *Keeper) Open(ctx context.Context, n runs.Notification) (notify.Target, error) {
	h, err := k.open(ctx, n)
	if err != nil {
		return notify.Target{}, err
	}
	return notify.Target{Kind: n.Kind, URL: secret.Text(h.URL), Key: secret.Text(h.Key), To: n.To}, nil
}

func (k *Keeper) open(ctx context.Context, n runs.Notification) (hidden, error) {
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
		// The error of the decoder could show what it read.
		return hidden{}, fault.Wrap(fault.Internal, errors.New("decode a sealed target"), "a sealed notification target cannot be read")
	}
	return h, nil
}

// refuse is the fault of a mask that stands for nothing.
func refuse(i int, address bool, why string) error {
	member := "key"
	if address {
		member = "url"
	}
	return fault.BadField(fmt.Sprintf("notifications[%d].%s", i, member), "%s", why)
}
