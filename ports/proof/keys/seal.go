package keys

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	sealVersion = 1
	maxSeal     = 1 << 20
	maxEpochs   = 4096
	maxText     = 64 << 10
	// Stamp is the format of times in signed data: UTC with six fractional digits.
	Stamp = "2006-01-02T15:04:05.000000Z"
)

// Seal is the content of seal.json: it describes the install, so that a reader can pin its keys separately from any
// bundle.
type Seal struct {
	Service    Product
	InstallID  string
	Origin     string
	Epoch      int64
	Epochs     []Epoch
	Keys       []Key
	Checkpoint string // the newest note
	Policy     string // C2SP tlog-policy text, empty for none
	TSA        []TSA
	Formats    []string
	VerifyPage string // empty for none
	UpdatedAt  time.Time
	// Sig is the DSSE envelope over Rest by a statement key, in canonical form.
	Sig json.RawMessage
}

// Product is the software of an install.
type Product struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Epoch is a span of the log without a rollback. Only the newest one is open.
type Epoch struct {
	N        int64
	FirstSeq int64
	Closed   bool
	LastSize int64    // of a closed epoch
	LastRoot [32]byte // of a closed epoch
	Reason   string   // why it began, empty for the first
}

// TSA is a time-stamping authority that anchors heads.
type TSA struct {
	Name string
	Cert [32]byte // SHA-256 of its certificate
}

// Rest returns what Sig covers: the canonical form of the seal without sig.
func (s Seal) Rest() ([]byte, error) {
	s.Sig = nil
	if err := s.Check(); err != nil {
		return nil, err
	}
	return Encode(toWire(s))
}

// Marshal returns seal.json in its canonical form. A seal without a signature is refused.
func (s Seal) Marshal() ([]byte, error) {
	if len(s.Sig) == 0 {
		return nil, SignatureInvalid.New("the seal is not signed")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	return Encode(toWire(s))
}

// ParseSeal reads seal.json in its canonical form and calls Check. It verifies neither signature nor checkpoint; the
// caller does.
func ParseSeal(data []byte) (Seal, error) {
	if len(data) > maxSeal {
		return Seal{}, FormatInvalid.New("seal.json has at most %d bytes", maxSeal)
	}
	var w wireSeal
	if err := Decode(data, &w); err != nil {
		return Seal{}, err
	}
	s, err := w.seal()
	if err != nil {
		return Seal{}, err
	}
	if len(s.Sig) == 0 {
		return Seal{}, SignatureInvalid.New("the seal is not signed")
	}
	return s, s.Check()
}

// Check checks that the parts of the seal agree: epochs without gap, the newest one open and that of the origin, each
// key valid and listed once, one active key of each use, the active checkpoint keys under the origin.
func (s Seal) Check() error {
	if err := s.checkTexts(); err != nil {
		return err
	}
	epoch, err := EpochOf(s.Origin)
	if err != nil {
		return err
	}
	if epoch != s.Epoch || len(s.Epochs) == 0 || len(s.Epochs) > maxEpochs || s.Epochs[len(s.Epochs)-1].N != epoch {
		return FormatInvalid.New("the origin, the epoch and the newest epoch of the seal differ")
	}
	for i, e := range s.Epochs {
		if err := e.check(int64(i+1), i == len(s.Epochs)-1); err != nil {
			return err
		}
	}
	return s.checkKeys()
}

func (s Seal) checkTexts() error {
	if err := CheckOrigin(s.Origin); err != nil {
		return err
	}
	texts := []string{s.Service.Name, s.Service.Version, s.InstallID, s.Checkpoint, s.Policy, s.VerifyPage}
	for _, t := range s.TSA {
		texts = append(texts, t.Name)
	}
	texts = append(texts, s.Formats...)
	for _, t := range texts {
		if len(t) > maxText || !utf8.ValidString(t) {
			return FormatInvalid.New("a text of the seal is too long or not UTF-8")
		}
	}
	if s.Service.Name == "" || s.InstallID == "" || s.Checkpoint == "" || len(s.Formats) == 0 || s.UpdatedAt.IsZero() {
		return FormatInvalid.New("the seal lacks its service, install id, checkpoint, formats or time")
	}
	return nil
}

func (e Epoch) check(n int64, newest bool) error {
	switch {
	case e.N != n || e.FirstSeq < 1 || e.FirstSeq > MaxInteger || e.Closed == newest:
		return FormatInvalid.New("epoch %d of the seal is out of order, or wrongly open or closed", n)
	case e.LastSize < 0 || e.LastSize > MaxInteger || !e.Closed && (e.LastSize != 0 || e.LastRoot != [32]byte{}):
		return FormatInvalid.New("epoch %d of the seal has an invalid end", n)
	case len(e.Reason) > maxText || !utf8.ValidString(e.Reason):
		return FormatInvalid.New("the reason of epoch %d is too long or not UTF-8", n)
	default:
		return nil
	}
}

func (s Seal) checkKeys() error {
	if _, err := NewRing(s.Keys...); err != nil {
		return err
	}
	active, seen := make(map[Use]bool), make(map[string]bool)
	for _, k := range s.Keys {
		if seen[k.ID] || k.NotBefore.IsZero() || len(k.Handover) > maxText || !utf8.ValidString(k.Handover) {
			return FormatInvalid.New("the seal lists key %s twice, without a time or with an invalid handover", k.ID)
		}
		seen[k.ID] = true
		if k.Status != Active {
			continue
		}
		active[k.Use] = true
		if k.Use == Checkpoint && k.Origin() != s.Origin {
			return FormatInvalid.New("the active checkpoint key %s does not have the origin of the seal", k.ID)
		}
	}
	if !active[Checkpoint] || !active[Statement] {
		return FormatInvalid.New("the seal has no active key of each use")
	}
	return nil
}

func parseStamp(s string) (time.Time, error) {
	t, err := time.Parse(Stamp, s)
	if err != nil || t.Year() < 1 || t.Format(Stamp) != s {
		return time.Time{}, FormatInvalid.New("a time is not UTC from the year 1 on, with six fractional digits")
	}
	return t.UTC(), nil
}

func parseCert(s string) (sum [32]byte, err error) {
	raw, err := hex.DecodeString(strings.ToLower(s))
	if err != nil || len(raw) != len(sum) || hex.EncodeToString(raw) != s {
		return sum, FormatInvalid.New("the digest of a certificate is not 64 lower-case hex digits")
	}
	return [32]byte(raw), nil
}

// The wire types are the JSON form of a seal. Unknown members are absent; pointers distinguish an absent number from
// zero.
type wireSeal struct {
	V          int             `json:"v"`
	Service    Product         `json:"service"`
	InstallID  string          `json:"install_id"`
	Origin     string          `json:"origin"`
	Epoch      int64           `json:"epoch"`
	Epochs     []wireEpoch     `json:"epochs"`
	Keys       []wireKey       `json:"keys"`
	Checkpoint string          `json:"checkpoint"`
	Policy     string          `json:"policy,omitempty"`
	TSA        []wireTSA       `json:"tsa,omitempty"`
	Formats    []string        `json:"formats"`
	VerifyPage string          `json:"verify_page,omitempty"`
	UpdatedAt  string          `json:"updated_at"`
	Sig        json.RawMessage `json:"sig,omitempty"`
}

type wireEpoch struct {
	N        int64  `json:"n"`
	FirstSeq int64  `json:"first_seq"`
	LastSize *int64 `json:"last_size,omitempty"`
	LastRoot string `json:"last_root,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

type wireKey struct {
	ID          string `json:"kid"`
	VKey        string `json:"vkey,omitempty"`
	SPKI        string `json:"spki_pem"`
	Alg         Alg    `json:"alg"`
	Use         Use    `json:"use"`
	Status      Status `json:"status"`
	NotBefore   string `json:"not_before"`
	FirstSize   int64  `json:"first_size"`
	LastSize    *int64 `json:"last_size,omitempty"`
	TrustedSize *int64 `json:"trusted_size,omitempty"`
	Handover    string `json:"handover,omitempty"`
}

type wireTSA struct {
	Name string `json:"name"`
	Cert string `json:"cert_sha256"`
}

func toWire(s Seal) wireSeal {
	w := wireSeal{
		V: sealVersion, Service: s.Service, InstallID: s.InstallID, Origin: s.Origin, Epoch: s.Epoch,
		Checkpoint: s.Checkpoint, Policy: s.Policy, Formats: s.Formats, VerifyPage: s.VerifyPage,
		UpdatedAt: s.UpdatedAt.UTC().Format(Stamp), Sig: s.Sig,
	}
	for _, e := range s.Epochs {
		out := wireEpoch{N: e.N, FirstSeq: e.FirstSeq, Reason: e.Reason}
		if e.Closed {
			out.LastSize, out.LastRoot = &e.LastSize, base64.StdEncoding.EncodeToString(e.LastRoot[:])
		}
		w.Epochs = append(w.Epochs, out)
	}
	for _, k := range s.Keys {
		out := wireKey{
			ID: k.ID, VKey: k.VKey, SPKI: k.SPKI, Alg: k.Alg, Use: k.Use, Status: k.Status,
			NotBefore: k.NotBefore.UTC().Format(Stamp), FirstSize: k.FirstSize, Handover: k.Handover,
		}
		switch k.Status {
		case Retired:
			out.LastSize = &k.LastSize
		case Revoked:
			out.TrustedSize = &k.TrustedSize
		}
		w.Keys = append(w.Keys, out)
	}
	for _, t := range s.TSA {
		w.TSA = append(w.TSA, wireTSA{Name: t.Name, Cert: hex.EncodeToString(t.Cert[:])})
	}
	return w
}

// seal converts the wire form to a Seal.
func (w wireSeal) seal() (Seal, error) {
	s := Seal{
		Service: w.Service, InstallID: w.InstallID, Origin: w.Origin, Epoch: w.Epoch, Checkpoint: w.Checkpoint,
		Policy: w.Policy, Formats: w.Formats, VerifyPage: w.VerifyPage, Sig: w.Sig,
	}
	var err error
	if s.UpdatedAt, err = parseStamp(w.UpdatedAt); err != nil {
		return Seal{}, err
	}
	if w.V != sealVersion {
		return Seal{}, FormatInvalid.New("the seal is of version %d", w.V)
	}
	for _, e := range w.Epochs {
		out, err := e.epoch()
		if err != nil {
			return Seal{}, err
		}
		s.Epochs = append(s.Epochs, out)
	}
	for _, k := range w.Keys {
		out, err := k.key()
		if err != nil {
			return Seal{}, err
		}
		s.Keys = append(s.Keys, out)
	}
	for _, t := range w.TSA {
		cert, err := parseCert(t.Cert)
		if err != nil {
			return Seal{}, err
		}
		s.TSA = append(s.TSA, TSA{Name: t.Name, Cert: cert})
	}
	return s, nil
}

func (w wireEpoch) epoch() (Epoch, error) {
	e := Epoch{N: w.N, FirstSeq: w.FirstSeq, Reason: w.Reason}
	if (w.LastSize == nil) != (w.LastRoot == "") {
		return Epoch{}, FormatInvalid.New("an epoch has only one of last size and last root")
	}
	if w.LastSize == nil {
		return e, nil
	}
	var err error
	e.Closed, e.LastSize = true, *w.LastSize
	e.LastRoot, err = ParseRoot(w.LastRoot)
	return e, err
}

func (w wireKey) key() (Key, error) {
	if (w.LastSize != nil) != (w.Status == Retired) || (w.TrustedSize != nil) != (w.Status == Revoked) {
		return Key{},
			FormatInvalid.New("only a retired key has a last size, and only a revoked key a trusted size")
	}
	k := Key{
		ID: w.ID, VKey: w.VKey, SPKI: w.SPKI, Alg: w.Alg, Use: w.Use, Status: w.Status,
		FirstSize: w.FirstSize, Handover: w.Handover,
	}
	if w.LastSize != nil {
		k.LastSize = *w.LastSize
	}
	if w.TrustedSize != nil {
		k.TrustedSize = *w.TrustedSize
	}
	var err error
	k.NotBefore, err = parseStamp(w.NotBefore)
	return k, err
}
