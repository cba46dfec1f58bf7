"""What can go wrong between glados and a model's service, each with what to check.

ModelError
├── ModelAuthFailed        the service does not take the key
├── ModelRateLimited       too many requests or no quota left (may be tried again)
├── ModelNotFound          the service has no such model or path
├── ModelContextTooLong    the request is longer than the model's context
├── ModelUnavailable       the service failed or cannot be reached (may be tried again)
├── ModelTimeout           the service did not answer in time (may be tried again)
├── ModelBadResponse       the answer is not what the protocol says
└── ModelStreamCut         the answer ended before it was complete (may be tried again)

Where the service said when to come back, `data["retry_after"]` has the seconds.
"""

from __future__ import annotations

from glados.core.errors import ModelError


class ModelAuthFailed(ModelError):
    """The service refuses the key."""

    code = "model_auth_failed"


class ModelRateLimited(ModelError):
    """The service wants fewer requests, or the account has no quota left."""

    code = "model_rate_limited"
    retryable = True


class ModelNotFound(ModelError):
    """The service does not have the model, or nothing answers under that path."""

    code = "model_not_found"


class ModelContextTooLong(ModelError):
    """The request does not fit into the model's context."""

    code = "model_context_too_long"


class ModelUnavailable(ModelError):
    """The service failed, or nobody answers at its address."""

    code = "model_unavailable"
    retryable = True


class ModelTimeout(ModelError):
    """The service was silent for too long."""

    code = "model_timeout"
    retryable = True


class ModelBadResponse(ModelError):
    """The service sent something that is no answer."""

    code = "model_bad_response"


class ModelStreamCut(ModelError):
    """The answer ended in the middle; what was told before it is real."""

    code = "model_stream_cut"
    retryable = True
