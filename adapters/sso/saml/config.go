package saml

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/writ-automation/writ/ports/audit"
	"github.com/writ-automation/writ/ports/clock"
	"github.com/writ-automation/writ/ports/identity"
	"github.com/writ-automation/writ/ports/tx"
)

// minKeyBits is the minimum size of an RSA key of either side.
const minKeyBits = 2048

// Config describes the provider and this server's registration there. Exactly one of MetadataURL and MetadataFile is
// set. CertFile and KeyFile are PEM and set together.
type Config struct {
	// MetadataURL is an https address. Plain http is allowed only on a loopback address, because an attacker who can
	// change the answer controls the trusted keys.
	MetadataURL string
	// MetadataFile is read again as often as an address, and has to be valid at the start.
	MetadataFile string
	// BaseURL is the address of this server for browsers. The expected destination and audience are derived from it,
	// never from the headers of a request.
	BaseURL string
	// CertFile and KeyFile sign requests and decrypt assertions. Without them requests are not signed and encrypted
	// assertions are refused. The key is RSA.
	CertFile string
	KeyFile  string
	// UsernameAttr is the attribute with the user name; empty uses the NameID.
	UsernameAttr string
	// GroupsAttr is the attribute with the groups. If it is empty, no groups are read or required.
	GroupsAttr string
}

// The paths below the base address. The metadata's address is also the entity id.
const (
	acsPath      = "/auth/saml/acs"
	metadataPath = "/auth/saml/metadata"
)

// ErrMetadataFile is in the chain of New's error if the metadata file is invalid.
var ErrMetadataFile = errors.New("the metadata's file")

// Check reads the certificate, the key and the metadata file, and checks the addresses.
func Check(cfg Config) error {
	_, _, err := cfg.read()
	return err
}

// read returns the base address and the key pair of a valid Config.
func (cfg Config) read() (base string, pair *keyPair, err error) {
	if (cfg.MetadataURL == "") == (cfg.MetadataFile == "") {
		return "", nil, errors.New("saml: exactly one of the metadata's address and file is required")
	}
	if cfg.MetadataURL != "" {
		if err := trustedAddress(cfg.MetadataURL); err != nil {
			return "", nil, fmt.Errorf("saml: metadata address: %w", err)
		}
	}
	if cfg.MetadataFile != "" {
		if _, err := fromFile(cfg.MetadataFile); err != nil {
			return "", nil, fmt.Errorf("saml: %w: %w", ErrMetadataFile, err)
		}
	}
	if base, err = baseAddress(cfg.BaseURL); err != nil {
		return "", nil, fmt.Errorf("saml: base address: %w", err)
	}
	if pair, err = loadPair(cfg.CertFile, cfg.KeyFile); err != nil {
		return "", nil, fmt.Errorf("saml: %w", err)
	}
	return base, pair, nil
}

// New creates a provider. It reads the certificate, the key and the metadata file, and checks the addresses. Metadata
// from an address is read at the first sign-in, so that the server starts even if the provider is down.
func New(cfg Config, store identity.HandshakeStore, recorder audit.Recorder, unit tx.Unit, clock clock.Clock,
	client *http.Client,
	log *slog.Logger) (*Provider, error) {
	if recorder == nil {
		return nil, errors.New("saml: a recorder is required")
	}
	base, pair, err := cfg.read()
	switch {
	case err != nil:
		return nil, err
	case cfg.MetadataURL != "" && client == nil:
		return nil, errors.New("saml: a client is required to read the metadata's address")
	}
	return &Provider{
		sp: serviceProvider{
			entityID: base + metadataPath, acs: base + acsPath, pair: pair,
			usernameAttr: cfg.UsernameAttr, groupsAttr: cfg.GroupsAttr,
		},
		store: store, recorder: recorder, unit: unit, clock: clock,
		source: newSource(cfg.MetadataURL, cfg.MetadataFile, client, clock, log),
	}, nil
}

// serviceProvider is this server's side: the expected addresses and the keys.
type serviceProvider struct {
	entityID, acs            string
	pair                     *keyPair // nil disables signing and decryption
	usernameAttr, groupsAttr string
}

type keyPair struct {
	cert *x509.Certificate
	key  *rsa.PrivateKey
}

func loadPair(certFile, keyFile string) (*keyPair, error) {
	if certFile == "" && keyFile == "" {
		return nil, nil
	}
	if certFile == "" || keyFile == "" {
		return nil, errors.New("the certificate and its key belong together")
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate and key: %w", err)
	}
	key, ok := pair.PrivateKey.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < minKeyBits {
		return nil, fmt.Errorf("the key has to be RSA of at least %d bits", minKeyBits)
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return &keyPair{cert: cert, key: key}, nil
}

// baseAddress returns the address without a trailing slash.
func baseAddress(s string) (string, error) {
	u, err := webAddress(s)
	if err != nil {
		return "", err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return "", errors.New("no query is allowed")
	}
	return strings.TrimRight(s, "/"), nil
}

// trustedAddress accepts addresses whose content cannot be changed in transit.
func trustedAddress(s string) error {
	u, err := webAddress(s)
	if err != nil {
		return err
	}
	if u.Scheme != "https" && !loopback(u.Hostname()) {
		return errors.New("https is required beyond loopback")
	}
	return nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func webAddress(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("expected an http or https address")
	}
	return u, nil
}
