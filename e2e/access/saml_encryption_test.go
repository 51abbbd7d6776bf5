package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	"github.com/crewjam/saml/xmlenc"

	"github.com/writ-automation/writ/e2e/harness"
)

// TestSAMLEncrypted gives the server a key and the provider's metadata as a file: the provider then encrypts. The
// sign-in succeeds with AES-GCM and is refused with AES-CBC.
func TestSAMLEncrypted(t *testing.T) {
	t.Parallel()
	for name, maker := range map[string]saml.AssertionMaker{"GCM": gcmAssertions{}, "CBC": persistentNames{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := federateWithKey(t, newIDP(t, maker))
			f.setUser(t, "ada", "engineers")
			b := f.browser(t, "ada")
			form := b.answer()
			if root := document(t, form).Root(); root.SelectElement("EncryptedAssertion") == nil ||
				root.SelectElement("Assertion") != nil {
				t.Fatal("the provider did not encrypt")
			}
			if name == "CBC" {
				f.refused(t, name, b.post(form, asJSON), 401, "bad_sign_in",
					"the assertion is encrypted with a CBC cipher; the provider has to use AES-GCM")
				return
			}
			if s := b.token(b.post(form, asJSON)); s.User.Username != "ada" || s.User.Role != "operator" {
				t.Errorf("%+v", s.User)
			}
			f.refused(t, "again", b.post(form, asJSON), 401, "bad_sign_in", spent)
		})
	}
}

// federateWithKey starts a server that has a key and the provider's metadata as a file.
func federateWithKey(t *testing.T, idp harness.Client) *federated {
	t.Helper()
	own, dir := pair(t), t.TempDir()
	der, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"metadata.xml": want(t, idp, http.MethodGet, "/metadata", nil, 200).Body,
		"cert.pem":     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.Leaf.Raw}),
		"key.pem":      pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return federate(t, idp, harness.Options{}, "--saml-idp-metadata-file", filepath.Join(dir, "metadata.xml"),
		"--saml-cert", filepath.Join(dir, "cert.pem"), "--saml-key", filepath.Join(dir, "key.pem"))
}

// gcmAssertions encrypts assertions with AES-GCM; the library can only use AES-CBC.
type gcmAssertions struct{ persistentNames }

func (g gcmAssertions) MakeAssertion(req *saml.IdpAuthnRequest, s *saml.Session) error {
	if err := g.persistentNames.MakeAssertion(req, s); err != nil {
		return err
	}
	described := *req.SPSSODescriptor
	req.SPSSODescriptor.KeyDescriptors = nil
	err := req.MakeAssertionEl()
	if *req.SPSSODescriptor = described; err != nil {
		return err
	}
	i := slices.IndexFunc(described.KeyDescriptors, func(k saml.KeyDescriptor) bool { return k.Use == "encryption" })
	der, err := base64.StdEncoding.DecodeString(described.KeyDescriptors[i].KeyInfo.X509Data.X509Certificates[0].Data)
	if err != nil {
		return err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return err
	}
	doc := etree.NewDocumentWithRoot(req.AssertionEl)
	plain, err := doc.WriteToBytes()
	if err != nil {
		return err
	}
	encryptor := xmlenc.OAEP()
	encryptor.BlockCipher, encryptor.DigestMethod = aes128GCM{}, &xmlenc.SHA1
	data, err := encryptor.Encrypt(cert, plain, nil)
	if err != nil {
		return err
	}
	req.AssertionEl = etree.NewElement("saml:EncryptedAssertion")
	req.AssertionEl.AddChild(data)
	return nil
}

// aes128GCM is the block cipher that encrypts assertions. The library's own does not encrypt with the nonce that it
// makes.
type aes128GCM struct{ xmlenc.BlockCipher }

func (aes128GCM) KeySize() int { return 16 }

func (aes128GCM) Encrypt(key any, plain, _ []byte) (*etree.Element, error) {
	block, err := aes.NewCipher(key.([]byte))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	data := etree.NewElement("xenc:EncryptedData")
	data.CreateAttr("xmlns:xenc", "http://www.w3.org/2001/04/xmlenc#")
	data.CreateElement("xenc:EncryptionMethod").CreateAttr("Algorithm", "http://www.w3.org/2009/xmlenc11#aes128-gcm")
	value := data.CreateElement("xenc:CipherData").CreateElement("xenc:CipherValue")
	value.SetText(base64.StdEncoding.EncodeToString(gcm.Seal(nil, nil, plain, nil)))
	return data, nil
}
