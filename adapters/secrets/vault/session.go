package vault

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/writ-automation/writ/platform/egress"
)

const (
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 1 << 20
	// maxLife bounds the time to live in an answer.
	maxLife = 365 * 24 * time.Hour
	// cleanupTimeout bounds the cleanup after the deadline of a call.
	cleanupTimeout = 3 * time.Second
)

// Config of an engine.
type Config struct {
	// Policy decides which addresses may be dialled. Vault is usually in a private network: use egress.PrivateAllowed.
	Policy egress.Policy
	// Options are those of the connections. An answer is at most 1 MiB, whatever they contain.
	Options egress.Options
}

// session is the connection to one server for one call. It has to be closed.
type session struct {
	client *http.Client
	src    source
	token  string
	own    bool          // the token was made by a login of this session
	life   time.Duration // of an own token, 0 without an end
}

// reply has the known members of an answer. Data is the member of that name.
type reply struct {
	status   int
	LeaseID  string          `json:"lease_id"`
	Seconds  int64           `json:"lease_duration"`
	Renews   bool            `json:"renewable"`
	Data     json.RawMessage `json:"data"`
	Errors   []string        `json:"errors"`
	Warnings []string        `json:"warnings"`
	Auth     *struct {
		ClientToken string `json:"client_token"`
		Seconds     int64  `json:"lease_duration"`
	} `json:"auth"`
}

// open connects and logs in.
func (c Config) open(ctx context.Context, src source) (*session, error) {
	s := c.resume(src, src.token)
	if src.token != "" {
		return s, nil
	}
	r, err := s.call(ctx, http.MethodPost, "auth/approle/login",
		map[string]string{"role_id": src.roleID, "secret_id": src.secretID})
	switch {
	case err != nil:
	case r.status == http.StatusBadRequest:
		err = errors.New("the role id or the secret id is refused")
	case r.status != http.StatusOK:
		err = r.failure()
	case r.Auth == nil || !validToken(r.Auth.ClientToken):
		err = errors.New("the answer holds no token")
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("vault: log in: %w", err)
	}
	s.token, s.own, s.life = r.Auth.ClientToken, true, seconds(r.Auth.Seconds)
	return s, nil
}

// resume connects with a token that is there.
func (c Config) resume(src source, token string) *session {
	if c.Options.MaxAnswer <= 0 || c.Options.MaxAnswer > maxAnswer {
		c.Options.MaxAnswer = maxAnswer
	}
	client := egress.Client(c.Policy, c.Options)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &session{client: client, src: src, token: token}
}

func (s *session) close() { s.client.CloseIdleConnections() }

// validToken reports whether a header can hold a token.
func validToken(token string) bool {
	return token != "" && len(token) <= maxText && !strings.ContainsFunc(token, func(r rune) bool {
		return r <= ' ' || r > '~'
	})
}

// call sends a request to a path below /v1/. A successful answer with a body that is not one of Vault is an error.
func (s *session) call(ctx context.Context, method, path string, body any) (r reply, err error) {
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return reply{}, errors.New("the question cannot be written")
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.src.base+"/v1/"+path, bytes.NewReader(text))
	if err != nil {
		return reply{}, errors.New("the address and the path make no address together")
	}
	req.Header.Set("X-Vault-Request", "true")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		req.Header.Set("X-Vault-Token", s.token)
	}
	if s.src.namespace != "" {
		req.Header.Set("X-Vault-Namespace", s.src.namespace)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, egress.Unanswered(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := egress.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return reply{}, egress.Unanswered(err)
	}
	if len(answer) > 0 && json.Unmarshal(answer, &r) != nil {
		if r = (reply{}); resp.StatusCode < http.StatusMultipleChoices {
			return reply{}, errors.New("the answer is not one of Vault")
		}
	}
	r.status = resp.StatusCode
	return r, nil
}

// read reads the path of the config.
func (s *session) read(ctx context.Context) (reply, error) {
	r, err := s.call(ctx, http.MethodGet, s.src.path, nil)
	if err == nil && r.status != http.StatusOK {
		err = r.failure()
	}
	if err != nil {
		return reply{}, fmt.Errorf("vault: read: %w", err)
	}
	return r, nil
}

// revoke ends a lease. A lease that does not exist is no error.
func (s *session) revoke(ctx context.Context, lease string) error {
	r, err := s.call(ctx, http.MethodPut, "sys/leases/revoke", map[string]string{"lease_id": lease})
	switch {
	case err != nil:
	case r.status == http.StatusOK, r.status == http.StatusNoContent, r.status == http.StatusNotFound, r.unknownLease():
		return nil
	default:
		err = r.failure()
	}
	return fmt.Errorf("vault: revoke the lease: %w", err)
}

// seconds converts a duration of an answer and bounds it.
func seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, int64(maxLife/time.Second)))) * time.Second
}

// shorter returns the shorter life of a lease and its token. 0 is a token without an end.
func shorter(lease, token time.Duration) time.Duration {
	if token == 0 {
		return lease
	}
	return min(lease, token)
}

// renew extends a lease and returns for how long it lives from now on.
func (s *session) renew(ctx context.Context, lease string) (time.Duration, error) {
	r, err := s.call(ctx, http.MethodPut, "sys/leases/renew", map[string]string{"lease_id": lease})
	if err == nil && r.status != http.StatusOK {
		err = r.failure()
	}
	if err != nil {
		return 0, fmt.Errorf("vault: renew the lease: %w", err)
	}
	return seconds(r.Seconds), nil
}

// stay renews the token of a login and returns its new life, 0 without an end.
func (s *session) stay(ctx context.Context) (time.Duration, error) {
	r, err := s.call(ctx, http.MethodPost, "auth/token/renew-self", map[string]string{})
	switch {
	case err != nil:
	case r.status != http.StatusOK:
		err = r.failure()
	case r.Auth == nil:
		err = errors.New("the answer holds no token")
	default:
		return seconds(r.Auth.Seconds), nil
	}
	return 0, fmt.Errorf("vault: renew the token: %w", err)
}

// leave revokes the token of a login, and with it all leases that it created.
func (s *session) leave(ctx context.Context) error {
	r, err := s.call(ctx, http.MethodPost, "auth/token/revoke-self", nil)
	if err == nil && r.status != http.StatusOK && r.status != http.StatusNoContent {
		err = r.failure()
	}
	if err != nil {
		return fmt.Errorf("vault: revoke the token: %w", err)
	}
	return nil
}

// end closes the session when nothing depends on its token any more. It revokes the token of a login, also after the
// deadline of the call. If the server refuses, the token ends with its TTL.
func (s *session) end(ctx context.Context) {
	defer s.close()
	if !s.own {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	_ = s.leave(ctx)
}
