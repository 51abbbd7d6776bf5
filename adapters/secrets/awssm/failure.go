package awssm

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/writ-automation/writ/platform/egress"
)

// failure returns why the secret could not be read. It leaves out the texts of AWS: that of a wrong signature repeats
// what was signed.
func failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return egress.Unanswered(ctx.Err())
	}
	var apiErr smithy.APIError
	if errors.As(err, &apiErr) {
		if known := meaning(apiErr.ErrorCode()); known != "" {
			return errors.New(known)
		}
	}
	var answer *awshttp.ResponseError
	if !errors.As(err, &answer) || answer.HTTPStatusCode() == 0 || errors.Is(err, egress.ErrTooLarge) {
		return egress.Unanswered(err)
	}
	switch status := answer.HTTPStatusCode(); {
	case status == http.StatusOK:
		return errors.New("the answer is not one of AWS")
	case status >= 300 && status < 400:
		return fmt.Errorf("the service sends elsewhere (%d), which is not followed", status)
	default:
		return fmt.Errorf("the service answered %d", status)
	}
}

// meaning explains an error code of AWS. It is empty for an unknown code.
func meaning(code string) string {
	switch code {
	case "ResourceNotFoundException":
		return "the secret was not found"
	case "AccessDeniedException", "AccessDenied":
		return "permission denied"
	case "UnrecognizedClientException", "InvalidClientTokenId":
		return "the access key is not known"
	case "InvalidSignatureException", "SignatureDoesNotMatch":
		return "the secret access key is refused, or the server's clock is wrong"
	case "ExpiredTokenException", "ExpiredToken":
		return "the access key has expired"
	case "DecryptionFailure", "DecryptionFailureException":
		return "the secret's key does not decrypt it"
	case "InvalidRequestException":
		return "the secret is marked for deletion, or has no current version"
	case "InvalidParameterException", "ValidationException":
		return "the name of the secret is not valid"
	case "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded":
		return "there are too many requests"
	default:
		return ""
	}
}
