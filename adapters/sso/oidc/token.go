package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// leeway is the allowed difference between the clocks of both sides, in seconds.
const leeway = 60

// exchange exchanges the code for tokens. If the provider advertises no authentication method or both, the second one
// is tried when it does not accept the client; a refused code is not sent again.
func (p *Provider) exchange(ctx context.Context, d *described, code, verifier string) (*oauth2.Token, error) {
	ctx = oidc.ClientContext(ctx, p.client)
	first := int(d.style.Load())
	for i := range d.styles {
		at := (first + i) % len(d.styles)
		token, err := p.oauth(d, d.styles[at]).Exchange(ctx, code, oauth2.VerifierOption(verifier))
		if err != nil {
			if i+1 < len(d.styles) && unknownClient(err) {
				continue
			}
			return nil, exchangeError(err)
		}
		d.style.Store(int32(at))
		if !strings.EqualFold(token.Type(), "bearer") {
			return nil, refused("the access token is not of type bearer")
		}
		return token, nil
	}
	return nil, refused("the token endpoint does not know the client")
}

func unknownClient(err error) bool {
	var answer *oauth2.RetrieveError
	if !errors.As(err, &answer) || answer.Response == nil {
		return false
	}
	return answer.ErrorCode == "invalid_client" || answer.ErrorCode == "invalid_request" ||
		answer.ErrorCode == "" && answer.Response.StatusCode == http.StatusUnauthorized
}

// watched records the errors of the key set, which the library converts to text.
type watched struct {
	oidc.KeySet
	err error
}

func (w *watched) VerifySignature(ctx context.Context, jwt string) (payload []byte, err error) {
	payload, w.err = w.KeySet.VerifySignature(ctx, jwt)
	return payload, w.err
}

// verify returns the claims of a valid ID token. The library verifies the signature and its algorithm; the claims are
// parsed again by their exact names, because the library ignores case.
func (p *Provider) verify(ctx context.Context, d *described, token *oauth2.Token, nonce string) (claims, error) {
	raw, _ := token.Extra("id_token").(string)
	if strings.Count(raw, ".") != 2 || strings.HasPrefix(strings.TrimSpace(raw), "{") {
		return nil, refused("the provider sent no ID token")
	}
	keys := &watched{KeySet: d.keys}
	verifier := oidc.NewVerifier(p.cfg.Issuer, keys, &oidc.Config{
		ClientID: p.cfg.ClientID, SupportedSigningAlgs: d.algorithms, SkipExpiryCheck: true,
	})
	t, err := verifier.Verify(oidc.ClientContext(ctx, p.client), raw)
	if err != nil {
		if unanswered(keys.err) {
			return nil, unavailable("the provider's keys: %w", clip(keys.err))
		}
		return nil, refused("the ID token: %w", clip(err))
	}
	var c claims
	if err := t.Claims(&c); err != nil {
		return nil, refused("the claims of the ID token: %w", clip(err))
	}
	for _, check := range []error{
		c.checkAudience(p.cfg.Issuer, p.cfg.ClientID), c.checkTimes(float64(p.clock.Now().Unix())), c.checkNonce(nonce),
		c.checkSubject(),
	} {
		if check != nil {
			return nil, refused("the ID token: %w", check)
		}
	}
	if _, ok := c["at_hash"]; ok {
		if err := t.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, refused("the ID token: %w", clip(err))
		}
	}
	return c, nil
}

func (c claims) checkAudience(issuer, client string) error {
	if c.text("iss") != issuer {
		return errors.New("it is of another issuer")
	}
	audience, err := c.list("aud")
	if err != nil {
		return err
	}
	if !slices.Contains(audience, client) {
		return errors.New("it is for another audience")
	}
	if azp, ok := c["azp"]; (ok || len(audience) > 1) && azp != client {
		return errors.New("another client is its authorized party (azp)")
	}
	return nil
}

// checkTimes compares seconds as floating-point numbers, so that no value overflows.
func (c claims) checkTimes(now float64) error {
	exp, ok := c["exp"].(float64)
	if !ok {
		return errors.New("it has no time of expiry")
	}
	if now >= exp+leeway {
		return errors.New("it has expired")
	}
	iat, ok := c["iat"].(float64)
	if !ok {
		return errors.New("it has no time of issue")
	}
	if iat > now+leeway {
		return errors.New("it was issued in the future")
	}
	if v, ok := c["nbf"]; ok {
		if nbf, ok := v.(float64); !ok || nbf > now+leeway {
			return errors.New("it is not valid yet")
		}
	}
	return nil
}

func (c claims) checkNonce(nonce string) error {
	if subtle.ConstantTimeCompare([]byte(c.text("nonce")), []byte(nonce)) != 1 {
		return errors.New("its nonce is not that of this sign-in")
	}
	return nil
}

// maxSubject is the limit of the standard.
const maxSubject = 255

func (c claims) checkSubject() error {
	sub := c.text("sub")
	if sub == "" {
		return errors.New("it has no subject (sub)")
	}
	if len(sub) > maxSubject {
		return fmt.Errorf("its subject is longer than %d bytes", maxSubject)
	}
	return nil
}
