package anchor

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"math/big"
	"net/http"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/fault"
	"github.com/writ-automation/writ/ports/proof/timestamp"
)

var oidSHA256 = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}

const queryType = "application/timestamp-query"

type timeStamper struct {
	peer *peer
	name string
}

var _ audit.TimeStamper = (*timeStamper)(nil)

// NewTimeStamper returns a client of the RFC 3161 authority at an http or https address; any other address is an
// Invalid fault that names tsa. It requests a token over the SHA-256 of the bytes, with a random nonce and with the
// authority's certificate.
//
// A response is returned if the authority granted it and its token matches the bytes and the request; everything else
// is audit.AnchorFailed. The verifier of the token checks whether the signer is trusted.
func NewTimeStamper(address string, o Options) (audit.TimeStamper, error) {
	p, u, err := newPeer(address, "tsa", o)
	if err != nil {
		return nil, err
	}
	return &timeStamper{peer: p, name: u.Scheme + "://" + u.Host}, nil
}

// Name implements audit.TimeStamper: scheme and host of the address. The rest may be a secret.
func (t *timeStamper) Name() string { return t.name }

func (t *timeStamper) Stamp(ctx context.Context, data []byte) ([]byte, error) {
	who := "the time-stamping authority " + t.name
	sum := sha256.Sum256(data)
	nonce, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 63))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "no random numbers")
	}
	query, err := asn1.Marshal(timeStampReq{
		Version: 1, Imprint: messageImprint{Algorithm: pkix.AlgorithmIdentifier{Algorithm: oidSHA256,
			Parameters: asn1.NullRawValue}, Hashed: sum[:]},
		Nonce: nonce, CertReq: true,
	})
	if err != nil {
		return nil, fault.Wrap(fault.Internal, err, "encode a time-stamp query")
	}
	a, err := t.peer.post(ctx, queryType, query)
	if err != nil {
		return nil, failed(who, err)
	}
	if a.status != http.StatusOK {
		return nil, audit.AnchorFailed.New("%s answered with status %d", who, a.status)
	}
	if err := checkResponse(a.body, data, nonce); err != nil {
		var refused *timestamp.Refusal
		if errors.As(err, &refused) {
			return nil, audit.AnchorFailed.New("%s refused to stamp: status %d", who, refused.Status).Because(err)
		}
		return nil, audit.AnchorFailed.New("%s answered with no token that fits the question", who).Because(err)
	}
	return a.body, nil
}

// badAddress names the request member with the address, without the address itself.
func badAddress(field string, err error) error {
	return fault.BadField(field, "not an address of http or https").Because(bare(err))
}

// checkResponse checks that a response matches the request: granted, over these bytes, with this nonce, signed.
func checkResponse(der, data []byte, nonce *big.Int) error {
	t, err := timestamp.Parse(der)
	switch {
	case err != nil:
		return err
	case !t.Signed:
		return errors.New("nobody signed")
	case !t.Covers(data):
		return errors.New("the time stamp is of other bytes")
	case t.Nonce == nil || t.Nonce.Cmp(nonce) != 0:
		return errors.New("the time stamp answers another question")
	}
	return nil
}

// timeStampReq is RFC 3161, 2.4.1, without the unused policy and extensions.
type timeStampReq struct {
	Version int
	Imprint messageImprint
	Nonce   *big.Int
	CertReq bool
}

type messageImprint struct {
	Algorithm pkix.AlgorithmIdentifier
	Hashed    []byte
}
